# SPDX-License-Identifier: Apache-2.0
"""The routing proxy in front of a decode server, and the flags that its release takes."""

from __future__ import annotations

import json
from collections.abc import Mapping

from valuesmith.deployment import Deployment
from valuesmith.diagnostics import Collector, Diagnostic, choices_hint
from valuesmith.records import dataclass
from valuesmith.references import no_reference, parse_reference
from valuesmith.targets import site
from valuesmith.targets.llmd.facts import SECTION, at_least, facts_table, given
from valuesmith.tree import Leaf, derived


@dataclass(frozen=True, slots=True)
class Proxy:
    """The routing proxy in front of a decode server, and the words that its release takes.

    *public* says that the public chart writes those words.
    """

    image: Leaf
    connector: Leaf
    connector_flag: str
    port_flag: str
    public: bool


def proxy(deployment: Deployment, problems: Collector) -> Proxy | None:
    """The proxy of the decode role. Aggregated serving has none unless the user asked for one."""
    config, table = deployment.config, facts_table()["proxy"]
    wanted = config.leaf(SECTION, "routing_proxy_enabled")
    asked = wanted is not None and wanted.is_user and wanted.value is not None
    if asked and wanted is not None and not wanted.value:
        return None
    if not asked and deployment.mode != "disagg":
        return None
    image = given(config, SECTION, "routing_proxy_image") or derived(
        table["image"], "the newest proxy that the public chart can start", kind="release"
    )
    reference = parse_reference(str(image.value))
    if reference is None:
        problems.items.append(no_reference("LlmdConfig.routing_proxy_image", image, "VS524"))
    version = (reference.tag if reference is not None else "").removeprefix("v")
    connector = _connector(deployment, version, problems)
    row = next(row for row in table["flags"] if at_least(version, row["since"]))
    return Proxy(
        site.mirrored(image, deployment.config),
        connector,
        row["connector"],
        row["port"],
        public=row is table["flags"][-1],
    )


def about_connector(deployment: Deployment) -> list[Diagnostic]:
    """A warning for each role whose engine moves KV blocks in another way than the protocol that a person chose."""
    leaf = given(deployment.config, SECTION, "routing_connector")
    if leaf is None or not leaf.is_user:
        return []
    wanted = facts_table()["proxy"]["connectors"].get(leaf.value, {}).get("moves", [])
    found = []
    for role in deployment.roles:
        args = role.process.args if role.process is not None else {}
        moved = args["kv-transfer-config"].value if "kv-transfer-config" in args else {}
        engine = moved.get("kv_connector") if isinstance(moved, Mapping) else None
        if engine and wanted and engine not in (*wanted, "MultiConnector"):
            message = (
                f"the routing connector is {leaf.value}, but {role.name} moves KV blocks by {engine}"
            )
            config = json.dumps({"kv_connector": wanted[0]}, separators=(",", ":"))
            hint = f"add '--kv-transfer-config={config}' to Workers.{role.name}.extra_cli_args"
            found.append(Diagnostic("VS544", message, leaf.at, hint, "warning"))
    return found


def _connector(deployment: Deployment, version: str, problems: Collector) -> Leaf:
    table = facts_table()["proxy"]["connectors"]
    default = "sglang" if deployment.backend == "sglang" else "nixlv2"
    leaf = given(deployment.config, SECTION, "routing_connector")
    if leaf is None or not leaf.is_user:
        return derived(default, f"the protocol that {deployment.backend} speaks")
    row = table.get(leaf.value)
    if row is None:
        problems.error(
            "VS530",
            f"unknown LlmdConfig.routing_connector {leaf.value}",
            leaf.at,
            choices_hint(leaf.value, table),
        )
    elif deployment.backend not in row["engines"]:
        problems.error(
            "VS531",
            f"the routing connector {leaf.value} is not spoken by {deployment.backend}",
            leaf.at,
            f"leave it out, or use {default}",
        )
    elif not at_least(version, row.get("since", "0")) or at_least(version, row.get("until", "999")):
        first, last = row.get("since"), row.get("until")
        when = f"came with {first}" if first else f"is gone since {last}"
        problems.error(
            "VS532",
            f"the routing connector {leaf.value} {when}; the proxy is {version}",
            leaf.at,
            "name another LlmdConfig.routing_proxy_image",
        )
    return leaf
