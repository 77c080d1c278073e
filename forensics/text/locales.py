"""What shells and small programs say in other languages, in English.

    tee: logs/run7/train.log: Aucun fichier ou dossier de ce type
    bash: Zeile 3: torchrun: Befehl nicht gefunden.

Sources: the translations of glibc (`strerror`), GNU bash and GNU coreutils.
"""

from __future__ import annotations

from forensics.text.lazy import lazy

_SAID: dict[str, tuple[str, ...]] = {
    "No such file or directory": (
        "Aucun fichier ou dossier de ce type", "Aucun fichier ou dossier de ce nom",
        "Datei oder Verzeichnis nicht gefunden", "No existe el archivo o el directorio",
        "No existe el fichero o el directorio", "File o directory non esistente",
        "Arquivo ou diretório inexistente", "Arquivo ou diretório não encontrado",
        "Нет такого файла или каталога", "没有那个文件或目录", "そのようなファイルやディレクトリはありません",
        "그런 파일이나 디렉터리가 없습니다", "Nie ma takiego pliku ani katalogu",
    ),
    "Permission denied": (
        "Permission non accordée", "Keine Berechtigung", "Permiso denegado", "Permesso negato", "Permissão negada",
        "Отказано в доступе", "权限不够", "許可がありません", "허가 거부", "Brak dostępu",
    ),
    "No space left on device": (
        "Aucun espace disponible sur le périphérique", "Auf dem Gerät ist kein Speicherplatz mehr verfügbar",
        "No queda espacio en el dispositivo", "Non c'è più spazio disponibile sul device",
        "Não há espaço disponível no dispositivo", "На устройстве не осталось свободного места",
        "设备上没有空间", "デバイスに空き領域がありません", "장치에 남은 공간이 없음",
    ),
    "command not found": (
        "commande introuvable", "Befehl nicht gefunden", "Kommando nicht gefunden", "orden no encontrada",
        "no se encontró la orden", "comando non trovato", "comando não encontrado", "команда не найдена",
        "未找到命令", "コマンドが見つかりません", "명령어를 찾을 수 없음", "nie znaleziono polecenia",
    ),
}  # fmt: skip
_ENGLISH = {local: english for english, locals_ in _SAID.items() for local in locals_}
WORDS = tuple(_ENGLISH)
"""What makes a line worth looking at."""
_ANY = lazy("|".join(sorted(WORDS, key=len, reverse=True)))
_LINE = lazy(r": (?:ligne|Zeile|línea|linea|linha|строка|wiersz|行|第) ?(?P<number>\d{1,7}) ?行?\s?: ")
_OPEN = lazy(
    r"(?:impossible d['’]ouvrir|kann|no se puede abrir|impossibile aprire|não foi possível abrir|"
    r"не удалось открыть|无法打开)"
    r" ?['\"‘’“”«]? ?(?P<what>[^'\"‘’“”»]{1,400}?) ?['\"‘’“”»]?"
    r"(?: (?:en lecture|(?:nicht )?zum Lesen öffnen|para lectura|per la lettura|para leitura|для чтения|读取数据))? ?: "
)


def in_english(text: str) -> str:
    """Return a shell's line in English, as far as its error is known in its language; else the line as it is."""
    found = _ANY.search(text)
    if found is None:
        return text
    said = text[: found.start()] + _ENGLISH[found[0]] + text[found.end() :].removeprefix(".")
    said = _LINE.sub(r": line \g<number>: ", said.replace(" : ", ": "), count=1)
    return _OPEN.sub(r"cannot open '\g<what>' for reading: ", said, count=1)
