#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints one table of the example's data as lines of `key TAB value`, read from files of Debian packages.

Usage: tables.py TABLE   where TABLE is iso, unicode, network, hardware, time, or words and a file of /usr/share/dict.

Values are what a service answers, JSON where it is JSON, so that no service has to parse or build anything. In keys and
values a backslash, a tab and a line end are written \\\\, \\t and \\n. Keys of one table have prefixes:

  iso       currency/EUR country/DE language/deu script/Latn ... -> JSON; currency-name/euro -> EUR;
            subdivision/DE-BY -> JSON; subdivision-of/europe/DE/DE-BY -> name
  unicode   character/0041 -> JSON; fold/0041 -> 0061; category/0041 -> Lu; block/0000 -> JSON; word/ARROW/2190 -> name
  network   tcp/21 udp/69 protocol/6 -> JSON; tcp-name/ftp -> 21; type/text/html -> JSON; extension/html -> text/html
  hardware  large/002272 medium/741AE09 small/70B3D5F2F -> JSON
  time      zone/Europe/Berlin -> the TZif file; place/europe/berlin -> Europe/Berlin
  words     the word -> nothing
"""

import csv
import json
import pathlib
import re
import sys
import unicodedata

ISO = pathlib.Path("/usr/share/iso-codes/json")
UNICODE = pathlib.Path("/usr/share/unicode")
IEEE = pathlib.Path("/usr/share/ieee-data")
ZONES = pathlib.Path("/usr/share/zoneinfo")

# Where tzdata's zone names say a country lies: "Pacific/Auckland" puts New Zealand into oceania.
CONTINENTS = {
    "Africa": "africa", "America": "america", "Antarctica": "antarctica", "Arctic": "europe", "Asia": "asia",
    "Atlantic": "europe", "Australia": "oceania", "Europe": "europe", "Indian": "africa", "Pacific": "oceania",
}


def text(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def simple(name):
    """A name as people type it: lower case, without accents."""
    plain = unicodedata.normalize("NFKD", name)
    return "".join(c for c in plain if not unicodedata.combining(c)).lower().strip()


def codes(standard, table, code_key):
    """Each entry of an iso-codes file under its code, and its code under its name."""
    for entry in json.loads((ISO / f"iso_{standard}.json").read_text())[standard]:
        code = entry[code_key]
        yield f"{table}/{code}", text(entry)
        for name in {simple(entry["name"]), simple(entry.get("common_name", entry["name"]))}:
            yield f"{table}-name/{name}/{code}", code


def continents():
    """Country code -> continent, from the first zone that tzdata names for it."""
    found = {}
    for line in (ZONES / "zone.tab").read_text().splitlines():
        if not line.startswith("#"):
            country, _, zone = line.split("\t")[:3]
            found.setdefault(country, CONTINENTS[zone.split("/")[0]])
    return found


def iso():
    yield from codes("4217", "currency", "alpha_3")
    yield from codes("3166-1", "country", "alpha_2")
    yield from codes("3166-3", "former-country", "alpha_4")
    yield from codes("639-3", "language", "alpha_3")
    yield from codes("639-2", "bibliographic-language", "alpha_3")
    yield from codes("639-5", "language-family", "alpha_3")
    yield from codes("15924", "script", "alpha_4")
    of = continents()
    for entry in json.loads((ISO / "iso_3166-2.json").read_text())["3166-2"]:
        country = entry["code"].split("-")[0]
        yield f"subdivision/{entry['code']}", text(entry)
        if country in of:
            yield f"subdivision-of/{of[country]}/{country}/{entry['code']}", entry["name"]


CATEGORIES = {
    "Lu": "uppercase letter", "Ll": "lowercase letter", "Lt": "titlecase letter", "Lm": "modifier letter",
    "Lo": "other letter", "Mn": "nonspacing mark", "Mc": "spacing mark", "Me": "enclosing mark",
    "Nd": "decimal number", "Nl": "letter number", "No": "other number", "Pc": "connector punctuation",
    "Pd": "dash punctuation", "Ps": "open punctuation", "Pe": "close punctuation", "Pi": "initial punctuation",
    "Pf": "final punctuation", "Po": "other punctuation", "Sm": "math symbol", "Sc": "currency symbol",
    "Sk": "modifier symbol", "So": "other symbol", "Zs": "space separator", "Zl": "line separator",
    "Zp": "paragraph separator", "Cc": "control", "Cf": "format", "Cs": "surrogate", "Co": "private use",
}


def unicode():
    blocks = []
    for line in (UNICODE / "Blocks.txt").read_text().splitlines():
        match = re.match(r"([0-9A-F]+)\.\.([0-9A-F]+); (.*)", line)
        if match:
            first, last, name = match.groups()
            blocks.append((int(first, 16), int(last, 16), name))
            yield f"block/{int(first, 16):06X}", text({"name": name, "first": first, "last": last})
    position = 0
    for line in (UNICODE / "UnicodeData.txt").read_text().splitlines():
        field = line.split(";")
        code, name, category = field[0], field[1], field[2]
        if name.startswith("<") and name != "<control>":
            continue  # first and last of a range without names of its own
        if name == "<control>":
            name = field[10] or "CONTROL"
        number = int(code, 16)
        while position < len(blocks) and blocks[position][1] < number:
            position += 1
        entry = {"code": "U+" + code, "name": name, "category": CATEGORIES[category]}
        if position < len(blocks) and blocks[position][0] <= number:
            entry["block"] = blocks[position][2]
        if category != "Cs":
            entry["utf8"] = chr(number).encode().hex(" ")
        for key, column in (("decomposition", 5), ("number", 8), ("uppercase", 12), ("lowercase", 13)):
            if field[column]:
                entry[key] = field[column]
        yield f"character/{number:06X}", text(entry)
        yield f"category/{number:06X}", category
        for word in set(re.findall(r"[A-Z0-9]+", name)):
            yield f"word/{word}/{number:06X}", name
    for line in (UNICODE / "CaseFolding.txt").read_text().splitlines():
        match = re.match(r"([0-9A-F]+); [CS]; ([0-9A-F]+);", line)
        if match:
            yield f"fold/{int(match[1], 16):06X}", match[2]


def network():
    ports = {}
    for line in pathlib.Path("/etc/services").read_text().splitlines():
        match = re.match(r"(\S+)\s+(\d+)/(tcp|udp)([^#]*)(?:#\s*(.*))?", line)
        if match:
            name, port, transport, aliases, comment = match.groups()
            entry = ports.setdefault((transport, int(port)), {"port": int(port), "transport": transport, "names": []})
            entry["names"] += [name, *aliases.split()]
            if comment:
                entry["description"] = comment.strip()
    for (transport, port), entry in ports.items():
        yield f"{transport}/{port}", text(entry)
        for name in dict.fromkeys(name.lower() for name in entry["names"]):
            yield f"{transport}-name/{name}/{port}", str(port)
    protocols = {}
    for line in pathlib.Path("/etc/protocols").read_text().splitlines():
        match = re.match(r"(\S+)\s+(\d+)\s+(\S+)\s*(?:#\s*(.*))?", line)
        if match:
            name, number, title, description = match.groups()
            protocols.setdefault(number, {"number": int(number), "name": name, "title": title,
                                          "description": (description or "").strip()})
    for number, entry in protocols.items():
        yield f"protocol/{number}", text(entry)
        yield f"protocol-name/{entry['name'].lower()}/{number}", number
    types, extensions = {}, {}
    for line in pathlib.Path("/etc/mime.types").read_text().splitlines():
        field = line.split("#")[0].split()
        if field:
            types.setdefault(field[0].lower(), []).extend(field[1:])
            for extension in field[1:]:
                extensions.setdefault(extension.lower(), []).append(field[0])
    for name, endings in types.items():
        yield f"type/{name}", text({"type": name, "extensions": endings})
    for extension, names in extensions.items():
        yield f"extension/{extension}", text({"extension": extension, "types": names})


def hardware():
    for size, file in (("large", "oui.csv"), ("medium", "mam.csv"), ("small", "oui36.csv")):
        owners = {}
        with open(IEEE / file, newline="", encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                owners.setdefault(row["Assignment"], {
                    "prefix": row["Assignment"], "owner": " ".join(row["Organization Name"].split()),
                    "address": " ".join(row["Organization Address"].split())})
        for prefix, entry in owners.items():
            yield f"{size}/{prefix}", text(entry)


def time():
    for line in (ZONES / "zone1970.tab").read_text().splitlines():
        if line.startswith("#"):
            continue
        zone = line.split("\t")[2]
        area, place = zone.split("/", 1)
        yield f"zone/{zone}", (ZONES / zone).read_bytes()
        yield f"place/{area.lower()}/{place.lower().replace('_', ' ')}", zone


def words(file):
    seen = set()
    data = (pathlib.Path("/usr/share/dict") / file).read_bytes()
    try:
        lines = data.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        lines = data.decode("iso-8859-1").splitlines()
    for line in lines:
        word = unicodedata.normalize("NFC", line.strip()).lower()
        if word and "'" not in word and word not in seen and len(word.encode()) <= 64:
            seen.add(word)
            yield word, ""


def escape(field):
    raw = field if isinstance(field, bytes) else field.encode()
    return raw.replace(b"\\", b"\\\\").replace(b"\t", b"\\t").replace(b"\n", b"\\n")


def main():
    tables = {"iso": iso, "unicode": unicode, "network": network, "hardware": hardware, "time": time, "words": words}
    if len(sys.argv) < 2 or sys.argv[1] not in tables or len(sys.argv) != (3 if sys.argv[1] == "words" else 2):
        print(__doc__, file=sys.stderr)
        return 1
    for key, value in tables[sys.argv[1]](*sys.argv[2:]):
        sys.stdout.buffer.write(escape(key) + b"\t" + escape(value) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
