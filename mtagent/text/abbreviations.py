"""Full stops that end no sentence: abbreviations, initials, list numbers and ordinals.

The tables hold the abbreviations of running text, by language. They are used for texts in any language: a text quotes
others, and a source's language is often not given. So a word that is also a plain word in one of these languages is in
a table only if what follows tells which of the two it is.
"""

from __future__ import annotations

import regex

_NEVER_LAST = {
    "en": "mr mrs ms dr prof rev hon capt col gen lt sgt cmdr gov rep st vs e.g i.e cf viz approx messrs mt",
    "de": "hr fr dr prof dipl ing hl bzw ca vgl evtl ggf inkl exkl zzgl bspw sog geb gest z.b d.h u.a i.d.r o.g u.u",
    "fr": "mme mlle mgr me dr pr st ste env p.ex c.-à-d",
    "es": "sr sra srta dr dra prof profa d dña lic ing ud uds p.ej p.e",
    "pt": "sr sra srta dr dra prof profa exmo exma v.g p.ex",
    "it": "sig sigg dott dott.ssa prof prof.ssa avv ing geom p.es",
    "ca": "sr sra dr dra p.ex",
    "ro": "dl d-na dvs prof ing",
    "nl": "dhr mevr mw drs dr prof bijv d.w.z m.b.t o.a t.a.v m.a.w z.g",
    "sv": "dr prof hr fr t.ex bl.a d.v.s s.k ca",
    "da": "hr fr dr prof f.eks bl.a d.v.s ca",
    "nb": "hr fr dr prof f.eks bl.a d.v.s ca",
    "fi": "esim ns prof",
    "is": "t.d þ.e m.a u.þ.b hr frú",
    "pl": "dr prof inż mgr hab np tzw tzn por św ks gen płk ul m.in",
    "cs": "mgr ing mudr judr phdr prof dr např tzv tj sv p pí ul",
    "sk": "mgr ing mudr judr phdr prof dr napr tzv tj sv p pí ul",
    "sl": "npr tj g ga dr prof",
    "hr": "npr tj tzv g gđa gđica dr prof mr",
    "sr": "нпр тј тзв г гђа др проф npr tj tzv dr prof",
    "hu": "dr prof ún ifj özv",
    "lt": "pvz vad dr prof",
    "lv": "piem t.i dr prof",
    "et": "nt nn dr prof",
    "ru": "г-н г-жа проф акад т.е т.к т.н напр ул",
    "uk": "ім проф акад т.з напр див ст.ст вул",
    "bg": "г-н г-жа д-р проф т.е напр вж",
    "mk": "г-дин г-ѓа д-р проф",
    "el": "κ κα κκ δρ π.χ δηλ βλ",
    "tr": "dr prof doç sn örn bkz yrd",
    "vi": "ts gs pgs ths tp",
    "id": "dr prof hj tn drs",
    "hi": "डॉ प्रो श्री श्रीमती कु पं",
    "mr": "डॉ प्रा श्री सौ",
    "ne": "डा प्रा श्री वि.सं",
    "bn": "ড ডা ডাঃ অধ্যাপক মো মি মিসেস",
    "gu": "ડૉ ડો પ્રો શ્રી",
    "pa": "ਡਾ ਪ੍ਰੋ",
    "ta": "டாக்டர் பேரா திரு",
    "te": "డా ప్రొ శ్రీ",
    "kn": "ಡಾ ಪ್ರೊ ಶ್ರೀ",
    "ml": "ഡോ പ്രൊഫ ശ്രീ",
    "si": "ආචාර්ය මහාචාර්ය",
    "ar": "د أ م أ.د",
}
"""What a name or more of the sentence follows."""
_BEFORE_A_NUMBER = {
    "en": "no nos fig figs vol ch sec art pp p para eq jan feb mar apr jun jul aug sept sep oct nov dec",
    "de": "nr s abs abb kap bd tel str",
    "fr": "n° chap art p tél",
    "es": "n.º núm nro pág págs cap art tel",
    "pt": "n.º núm pág art cap tel",
    "it": "n nn pag cap art tel",
    "nl": "nr blz art tel",
    "pl": "nr poz s str ust rozdz tel",
    "cs": "č čl str kap tel obr",
    "sv": "nr sid kap tel",
    "fi": "nro s puh",
    "hu": "sz o tel",
    "ro": "nr art pag tel",
    "ru": "№ с стр гл рис табл п пп ст тел",
    "uk": "№ с стор гл рис табл п ст тел",
    "el": "αρ σελ αριθ",
    "tr": "no s sf madde tel",
    "hi": "सं क्र",
}
"""What a number follows. Alone they may be words that end a sentence: "No." """
_MAY_BE_LAST = {
    "en": "etc al inc ltd co corp jr sr bros ave blvd rd dept est ft hr a.m p.m b.c a.d ph.d m.d",
    "de": "usw etc u.s.w u.ä o.ä mio mrd str tel v.chr n.chr e.v",
    "fr": "etc av boul",
    "es": "etc ee.uu a.c d.c s.a avda",
    "it": "ecc a.c d.c s.p.a",
    "pt": "etc s.a ltda",
    "nl": "enz etc v.chr n.chr",
    "sv": "osv m.m",
    "da": "osv m.m m.v",
    "fi": "jne yms",
    "pl": "itd itp r w tys mln mld",
    "cs": "atd apod tis mil mld r",
    "hr": "itd tzv",
    "hu": "stb kb",
    "lt": "t.t m",
    "ru": "т.д т.п др см ср г гг в вв руб тыс млн млрд",
    "uk": "т.д т.п ін р рр грн тис млн млрд",
    "el": "κ.λπ κλπ κ.ά",
    "tr": "vb vs",
}
"""What ends a sentence if a capital letter follows."""


def _words(table: dict[str, str]) -> frozenset[str]:
    return frozenset(word for words in table.values() for word in words.split())


NEVER_LAST, BEFORE_A_NUMBER, MAY_BE_LAST = map(_words, (_NEVER_LAST, _BEFORE_A_NUMBER, _MAY_BE_LAST))
GERMAN_MONTHS = frozenset([
    "januar", "jänner", "februar", "feber", "märz", "april", "mai", "juni", "juli", "august", "september", "oktober",
    "november", "dezember",
])  # fmt: skip
"""German writes them with a capital, as it does the beginning of a sentence: "am 3. Mai"."""
_FARTHEST = 24
"""Characters before a full stop that are looked at."""
_CHAIN = regex.compile(r"(?<![\p{L}\p{M}\p{N}])(?:\p{L}\.[ \u00a0\u202f]?)+\p{L}\Z")
_WORD = regex.compile(r"(?<![\p{L}\p{M}\p{N}])[\p{L}\p{M}№][\p{L}\p{M}\p{N}.º°-]*+\Z")
_ENUMERATOR = regex.compile(r"[^\p{L}\p{N}]*+(?:\p{N}{1,3}+(?:\.\p{N}{1,3}+)*+|\p{L}|[IVXivx]{1,5}+)\Z")
_ORDINAL = regex.compile(r"(?<![\p{L}\p{N}.,])\p{N}{1,2}\Z")
_NEXT = regex.compile(r"[ \u00a0\u202f]*+([^\s\p{L}\p{N}]*+)([\p{L}\p{M}]++|\p{N}|\Z)(\.?)")


def ends_in_abbreviation(text: str, start: int, stop: int) -> bool:
    """Whether the full stop at ``stop`` belongs to what is before it, in a sentence that begins at ``start``."""
    follows = _NEXT.match(text, stop + 1)
    if follows is None:
        return False
    marks, following, stop_follows = follows.groups()
    if _ENUMERATOR.match(text, start, stop):
        return bool(following)
    begins_small = following[:1].islower()
    before = max(start, stop - _FARTHEST)
    if _ORDINAL.search(text, before, stop):
        return begins_small or following.casefold() in GERMAN_MONTHS
    chain, word = _CHAIN.search(text, before, stop), _WORD.search(text, before, stop)
    if word is None:
        return False
    found = (chain or word)[0].casefold().replace(" ", "").replace("\u00a0", "").replace("\u202f", "")
    if found in MAY_BE_LAST:
        return begins_small or following.isdigit() or marks[:1] in (",", ";", ":", ")")
    if chain is not None or found in NEVER_LAST:
        return True
    if found in BEFORE_A_NUMBER and following.isdigit():
        return True
    is_initial = len(found) == 1 and word[0].isupper()
    begins_chain = len(found) == 1 and len(following) == 1 and stop_follows == "."
    return is_initial or begins_chain
