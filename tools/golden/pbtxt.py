"""Prints nested dicts as protobuf text. A list is a repeated field; Name prints without quotes."""


class Name(str):
    """An enum value."""


def scalar(v):
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, Name):
        return v
    if isinstance(v, str):
        return '"%s"' % v.replace("\\", "\\\\").replace('"', '\\"')
    return repr(v)


def lines(message, indent=""):
    for key, value in message.items():
        if isinstance(value, dict):
            yield "%s%s {" % (indent, key)
            yield from lines(value, indent + "  ")
            yield indent + "}"
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for item in value:
                yield from lines({key: item}, indent)
        elif isinstance(value, list):
            yield "%s%s: [%s]" % (indent, key, ", ".join(scalar(v) for v in value))
        else:
            yield "%s%s: %s" % (indent, key, scalar(value))


def text(message):
    return "\n".join(lines(message)) + "\n"
