"""For the site: what griffe shows of a parameter's type and default, mended.

``X, y`` and ``scale, layout, bits`` share a description; griffe would show the type and the default
of the first for all of them. It takes ``array-like`` for a subtraction. ``Any`` tells a reader
nothing.
"""

import griffe


class Grouped(griffe.Extension):
    """Corrects docstrings once all of the package is known."""

    def on_package(self, *, pkg, **_):
        """Go through everything in the package."""
        for found in (pkg, *members(pkg)):
            if found.docstring and (found.is_function or "__init__" in found.members):
                correct(found)


def members(parent):
    """Yield what a module or class defines, and what is in that."""
    for member in parent.members.values():
        if not member.is_alias:
            yield member
            yield from members(member)


def correct(found):
    """Take type and default from the signature where a docstring has none of its own."""
    own = {parameter.name: parameter for parameter in found.parameters}
    from_signature = {id(parameter.annotation) for parameter in own.values()}
    for section in found.docstring.parsed:
        if section.kind is griffe.DocstringSectionKind.parameters:
            for shown in section.value:
                name = shown.name.lstrip("*")
                if name in own:
                    shown.value = None if name != shown.name else own[name].default
                    if id(shown.annotation) in from_signature:
                        shown.annotation = own[name].annotation
                shown.annotation = type_of(shown.annotation)


def type_of(annotation):
    """Return what to show of a type."""
    text = str(annotation or "")
    if text == "Any":
        return None
    return text.replace(" - like", "-like") if " - like" in text else annotation
