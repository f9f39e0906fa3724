-- A store of version 1, with one finished run. Never changed: it stands for the files that users have.
PRAGMA application_id = 1836343655;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE calls (
  id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL, segment TEXT NOT NULL, purpose TEXT NOT NULL,
  key TEXT NOT NULL, model TEXT NOT NULL, messages TEXT NOT NULL, reply TEXT, reply_model TEXT,
  finish_reason TEXT, logprobs TEXT, error TEXT, calls INTEGER NOT NULL, input_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL, cost REAL,
  seconds REAL NOT NULL, at TEXT NOT NULL);
INSERT INTO "calls" VALUES(1,1,'s1','p','key-1','m','[["system","a7f7bc40704aa6358735bd7d9a499bc6"],["user","908636be069e0270f0654b34247b3428"]]','67f85b6bdfebb82743fff34a85bf7872','m-2025','stop',NULL,NULL,1,7,1,5,2,0.25,0.0,'2025-01-31 12:00:00.000');
CREATE TABLE edits (
  run_id INTEGER NOT NULL, position INTEGER NOT NULL, step INTEGER NOT NULL, number INTEGER NOT NULL,
  segment TEXT NOT NULL, stage TEXT NOT NULL, outcome TEXT NOT NULL, old TEXT NOT NULL, new TEXT NOT NULL,
  start INTEGER, "end" INTEGER, category TEXT, severity TEXT, span TEXT, detail TEXT,
  PRIMARY KEY (run_id, position, step, number));
INSERT INTO "edits" VALUES(1,0,0,0,'s1','postedit','applied','before','after',0,6,NULL,NULL,NULL,NULL);
CREATE TABLE ratings (
  run_id INTEGER NOT NULL, position INTEGER NOT NULL, step INTEGER NOT NULL, number INTEGER NOT NULL,
  segment TEXT NOT NULL, stage TEXT NOT NULL, evaluator TEXT NOT NULL, score REAL NOT NULL,
  signature TEXT NOT NULL, explanation TEXT, errors TEXT, calls TEXT NOT NULL,
  PRIMARY KEY (run_id, position, step, number));
INSERT INTO "ratings" VALUES(1,0,0,0,'s1','postedit','rules',-1.0,'sig',NULL,'[]','[]');
CREATE TABLE runs (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, state TEXT NOT NULL, settings TEXT NOT NULL,
  inputs TEXT NOT NULL, total INTEGER, pid INTEGER, started TEXT NOT NULL, updated TEXT NOT NULL);
INSERT INTO "runs" VALUES(1,'old','finished','{}','{}',1,NULL,'2025-01-31 12:00:00.000','2025-01-31 12:00:00.000');
CREATE TABLE segments (
  run_id INTEGER NOT NULL, position INTEGER NOT NULL, segment TEXT NOT NULL, source_lang TEXT NOT NULL,
  target_lang TEXT NOT NULL, source TEXT NOT NULL, translation TEXT, reference TEXT, document TEXT, domain TEXT,
  context TEXT, notes TEXT, terms TEXT NOT NULL, state TEXT NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY (run_id, position));
INSERT INTO "segments" VALUES(1,0,'s1','en','is','source','before',NULL,NULL,NULL,NULL,NULL,'[]','changed','after');
CREATE TABLE steps (
  run_id INTEGER NOT NULL, position INTEGER NOT NULL, step INTEGER NOT NULL, segment TEXT NOT NULL,
  stage TEXT NOT NULL, verdict TEXT NOT NULL, reason TEXT NOT NULL, text TEXT NOT NULL, proposed TEXT,
  seconds REAL NOT NULL, calls TEXT NOT NULL,
  PRIMARY KEY (run_id, position, step));
INSERT INTO "steps" VALUES(1,0,0,'s1','postedit','kept','better','after','after',1.5,'[{"purpose":"p","model":"m","messages":[["system","a7f7bc40704aa6358735bd7d9a499bc6"],["user","908636be069e0270f0654b34247b3428"]],"reply":"67f85b6bdfebb82743fff34a85bf7872","usage":{"calls":1,"reused":0,"input_tokens":7,"cached_tokens":1,"output_tokens":5,"reasoning_tokens":2,"cost":0.25},"seconds":0.0,"error":null}]');
CREATE TABLE texts (id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, text TEXT NOT NULL);
INSERT INTO "texts" VALUES(1,'a7f7bc40704aa6358735bd7d9a499bc6','constant');
INSERT INTO "texts" VALUES(2,'908636be069e0270f0654b34247b3428','about old reply');
INSERT INTO "texts" VALUES(3,'67f85b6bdfebb82743fff34a85bf7872','old reply');
CREATE INDEX segments_by_id ON segments (run_id, segment);
CREATE INDEX segments_by_state ON segments (run_id, state);
CREATE INDEX calls_by_key ON calls (key);
CREATE INDEX calls_by_segment ON calls (run_id, segment);
COMMIT;
