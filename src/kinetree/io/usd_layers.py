"""Opening a USD stage from untrusted files.

A layer refers to other layers, which USD would open anywhere, and may use them so often that the stage
exceeds memory. So all layers are inspected before composition: every file must be in the allowed directories,
and the prims that composition will create are counted.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from kinetree.extras import needed
from kinetree.io.attributes import shorten
from kinetree.io.files import LARGEST_LAYER, LAYERS, Document
from kinetree.io.paths import Reach, confined
from kinetree.io.report import Where, refuse

_LAYERS = 200
_PRIMS = 200_000
_PACKAGED = re.compile(r"^(?P<package>[^\[\]]+\.usdz)\[[^\[\]]+\]$")


def open_stage(document: Document) -> Any:
    """The composed stage of a file or text; FileError if it is not one, reaches outside, or is too large."""
    Sdf = needed("pxr.Sdf", "loading USD")
    Usd = needed("pxr.Usd", "loading USD")
    Tf = needed("pxr.Tf", "loading USD")
    where = Where(document.file, 0, "stage")
    try:
        if document.directory is None:
            layer = Sdf.Layer.CreateAnonymous(".usda")
            text = document.content if isinstance(document.content, str) else document.content.decode()
            layer.ImportFromString(text)
        else:
            layer = Sdf.Layer.FindOrOpen(os.fspath(document.directory / Path(document.file).name))
        if layer is None:
            refuse("usd", where, "not a USD layer")
        _Look(Sdf, where, document.reach).at(layer)
        stage = Usd.Stage.Open(layer)
    except (Tf.ErrorException, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        refuse("usd", where, f"not a USD layer: {shorten(reason.partition(' : ')[2] or reason)}")
    return stage


class _Look:
    """Inspects the layers of a stage before USD composes them."""

    def __init__(self, Sdf: Any, where: Where, reach: Reach) -> None:
        self.Sdf, self.where, self.reach = Sdf, where, reach
        self.layers: dict[str, Any] = {}
        self.size = 0

    def at(self, root: Any) -> None:
        pending = [root]
        while pending:
            layer = pending.pop()
            if layer.identifier in self.layers:
                continue
            self.layers[layer.identifier] = layer
            self._measure(layer)
            for asset in layer.GetCompositionAssetDependencies():
                if asset:
                    pending.append(self._open(layer, asset))
        self._count(root)

    def _measure(self, layer: Any) -> None:
        path = layer.realPath.partition("[")[0]
        if path:
            self.size += os.stat(path).st_size
        if len(self.layers) > _LAYERS or self.size > LARGEST_LAYER:
            problem = f"more than {_LAYERS} layers, or {LARGEST_LAYER} bytes of them"
            refuse("xml-limit", self.where, problem, "Flatten the stage without its meshes.")

    def _open(self, layer: Any, asset: str) -> Any:
        """A layer that another one refers to, if it is in an allowed place."""
        inner = layer.realPath.partition("[")
        packaged = _PACKAGED.match(asset)
        file = packaged["package"] if packaged else asset
        if inner[1] and not packaged:  # inside a package, which must not refer to the outside
            if ".." in file.replace("\\", "/").split("/") or os.path.isabs(file) or ":" in file:
                refuse("include", self.where, f"layer {shorten(asset)!r} lies outside its package")
        elif not self._may_open(Path(inner[0]).parent if inner[0] else None, file):
            problem = f"layer {shorten(asset)!r} lies outside the model's directory, or does not exist"
            refuse(
                "include",
                self.where,
                problem,
                "Keep all layers below the folder of the file, or give include_dirs=.",
            )
        found = self.Sdf.Layer.FindOrOpenRelativeToLayer(layer, asset)
        if found is None:
            refuse("include", self.where, f"layer {shorten(asset)!r} cannot be opened")
        return found

    def _may_open(self, beside: Path | None, file: str) -> bool:
        if beside is None or not file.lower().endswith(LAYERS):
            return False
        target = confined(file, beside, *self.reach.roots)
        return target is not None and target.is_file()

    def _count(self, root: Any) -> None:
        """Refuse a stage that would have too many prims, since composition arcs can multiply them.

        The prims below a spec are those in its layer and those behind its references, payloads, inherited
        and specialised classes, each counted as often as it is used.
        """
        counted: dict[tuple[str, Any], int] = {}
        start = (root.identifier, self.Sdf.Path.absoluteRootPath)
        stack: list[tuple[tuple[str, Any], bool]] = [(start, False)]
        total = 0
        while stack:
            key, done = stack.pop()
            if done:
                parts = self._parts(key)
                counted[key] = total = min(1 + sum(counted.get(part, 0) for part in parts), _PRIMS + 1)
            elif key not in counted:
                counted[key] = 0  # for a cycle, which USD refuses to compose
                stack.append((key, True))
                stack.extend((part, False) for part in self._parts(key))
            if len(counted) > _PRIMS or total > _PRIMS:
                refuse("xml-limit", self.where, f"the stage would have more than {_PRIMS} prims")

    def _parts(self, key: tuple[str, Any]) -> list[tuple[str, Any]]:
        """The content of a prim spec: its children in all variants, and the targets of its arcs."""
        identifier, path = key
        layer = self.layers[identifier]
        spec = layer.GetPrimAtPath(path)
        if spec is None:
            return []
        found = [(identifier, child.path) for child in spec.nameChildren]
        if path == self.Sdf.Path.absoluteRootPath:
            found += [(self._named(layer, name), path) for name in layer.subLayerPaths]
            return [part for part in found if part[0]]
        for variants in spec.variantSets.values():
            found += [(identifier, each.primSpec.path) for each in variants.variants]
        for arcs in (spec.referenceList, spec.payloadList):
            for arc in arcs.GetAddedOrExplicitItems():
                other = self._named(layer, arc.assetPath) if arc.assetPath else identifier
                if other:
                    target = arc.primPath or self._default(other)
                    found.append((other, target))
        for arcs in (spec.inheritPathList, spec.specializesList):
            found += [(identifier, target) for target in arcs.GetAddedOrExplicitItems()]
        return found

    def _named(self, layer: Any, asset: str) -> str:
        found = self.Sdf.Layer.FindRelativeToLayer(layer, asset)
        return "" if found is None else found.identifier

    def _default(self, identifier: str) -> Any:
        layer = self.layers[identifier]
        return self.Sdf.Path(f"/{layer.defaultPrim}") if layer.defaultPrim else self.Sdf.Path.absoluteRootPath
