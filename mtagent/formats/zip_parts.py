"""Members of a ZIP file, of which some are replaced and all others keep their bytes."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from mtagent.errors import InputError
from mtagent.formats.documents import ByteEdit

LARGEST_PART = 512 * 2**20
"""Bytes. A document with a larger part, or one that is packed more than a thousandfold, is refused."""
_MOST_TIMES = 1000
_CENTRAL = struct.Struct("<4s6H3L5H2L")  # a record of the central directory, without its names
_LOCAL = struct.Struct("<4s5H3L2H")
_END = struct.Struct("<4s4H2LH")
_CENTRAL_SIGNATURE = b"PK\x01\x02"
_LOCAL_SIGNATURE = b"PK\x03\x04"
_DEFLATED = 8
_WITH_DESCRIPTOR = 0x08
_ENCRYPTED = 0x01


class ZipParts:
    """A ZIP file that has been read. Raises :class:`InputError` for a broken one, and for a bomb."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        self.data = data
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
            raise InputError(f"{path}: isn't a document of this kind ({error}); restore the file") from None
        self._refuse_wrong_places()
        self.names = self._zip.namelist()
        if len(set(self.names)) < len(self.names):
            raise InputError(f"{path}: has two parts of the same name; restore the file")
        for info in self._zip.infolist():
            is_bomb = info.file_size > LARGEST_PART or info.file_size > _MOST_TIMES * max(info.compress_size, 1024)
            if is_bomb:
                raise InputError(
                    f"{path}: its part {info.filename} has {info.file_size:,} bytes; such files are refused"
                )
            if info.flag_bits & _ENCRYPTED:
                raise InputError(f"{path}: is encrypted; save it without a password")

    def _refuse_wrong_places(self) -> None:
        """Raise :class:`InputError` unless the directory and the members are where the file says."""
        places = {info.header_offset: _LOCAL_SIGNATURE for info in self._zip.infolist()}
        if places:
            places[self._zip.start_dir] = _CENTRAL_SIGNATURE
        for place, signature in places.items():
            if place < 0 or not self.data.startswith(signature, place):
                raise InputError(f"{self.path}: a part isn't where the file's directory has it; restore the file")

    def read(self, name: str) -> bytes:
        """The content of a member. Raises :class:`InputError`."""
        try:
            with self._zip.open(name) as member:
                content = member.read(LARGEST_PART + 1)
        except (KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as error:
            raise InputError(f"{self.path}: its part {name} cannot be read ({error}); restore the file") from None
        if len(content) > LARGEST_PART:
            raise InputError(f"{self.path}: its part {name} is too large; such files are refused")
        return content

    def edits(self, contents: Mapping[str, bytes]) -> list[ByteEdit]:
        """The changes of the file's bytes that give members other contents."""
        if not contents:
            return []
        directory_start = self._zip.start_dir
        infos = sorted(self._zip.infolist(), key=lambda info: info.header_offset)
        edits = []
        offsets: dict[str, tuple[int, bytes | None, bytes | None]] = {}
        shift = 0
        for place, info in enumerate(infos):
            end = infos[place + 1].header_offset if place + 1 < len(infos) else directory_start
            content = contents.get(info.filename)
            if content is None:
                offsets[info.filename] = info.header_offset + shift, None, None
                continue
            packed = zlib.compress(content, 6)[2:-4]
            record = self._local_record(info, content, packed)
            offsets[info.filename] = info.header_offset + shift, content, packed
            edits.append(ByteEdit(info.header_offset, end, record))
            shift += len(record) - (end - info.header_offset)
        edits.append(ByteEdit(directory_start, len(self.data), self._directory(offsets, directory_start, shift)))
        return edits

    def _local_record(self, info: zipfile.ZipInfo, content: bytes, packed: bytes) -> bytes:
        """The member's header, with new sizes, and its new content."""
        header = list(_LOCAL.unpack_from(self.data, info.header_offset))
        header[2] &= ~_WITH_DESCRIPTOR
        header[3] = _DEFLATED
        header[6:9] = zlib.crc32(content), len(packed), len(content)
        names = self.data[info.header_offset + _LOCAL.size :][: header[9]]
        header[10] = 0  # extra fields may have other sizes
        return _LOCAL.pack(*header) + names + packed

    def _directory(
        self, offsets: Mapping[str, tuple[int, bytes | None, bytes | None]], start: int, shift: int
    ) -> bytes:
        """The central directory with the new places and sizes."""
        records = []
        place = start
        for info in self._zip.infolist():  # in the directory's order
            record = list(_CENTRAL.unpack_from(self.data, place))
            names_length = record[10] + record[11] + record[12]
            names = self.data[place + _CENTRAL.size :][:names_length]
            place += _CENTRAL.size + names_length
            offset, content, packed = offsets[info.filename]
            record[16] = offset
            if content is not None and packed is not None:
                record[3] &= ~_WITH_DESCRIPTOR
                record[4] = _DEFLATED
                record[7:10] = zlib.crc32(content), len(packed), len(content)
            records.append(_CENTRAL.pack(*record) + names)
        directory = b"".join(records)
        end = list(_END.unpack_from(self.data, self.data.rindex(b"PK\x05\x06")))
        comment = self.data[self.data.rindex(b"PK\x05\x06") + _END.size :]
        end[1:5] = 0, 0, len(records), len(records)  # a record of ZIP64, which may have had them, is left out
        end[5:7] = len(directory), start + shift
        return directory + _END.pack(*end) + comment
