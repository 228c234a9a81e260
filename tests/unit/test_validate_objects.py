# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501 (messages stand whole, as people read them)
"""Checks among rendered objects: one good stream, and each thing that can be wrong in it."""

from __future__ import annotations

import pytest

from valuesmith import facts
from valuesmith.diagnostics import render
from valuesmith.validate import objects, run
from valuesmith.validate.manifest import read, wrap
from valuesmith.validate.pods import pods
from valuesmith.validate.prerequisites import prerequisites

WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: prod
  labels: {app.kubernetes.io/instance: one}
spec:
  selector:
    matchLabels: {app: web, app.kubernetes.io/instance: one}
  template:
    metadata:
      labels: {app: web, app.kubernetes.io/instance: one}
    spec:
      imagePullSecrets: [{name: pull}]
      initContainers:
        - name: setup
          image: web@sha256:abc
      containers:
        - name: main
          image: registry:5000/web:1.0
          env:
            - name: A
              value: x
            - name: HF_TOKEN
              valueFrom: {secretKeyRef: {name: token, key: HF_TOKEN}}
          envFrom:
            - secretRef: {name: token}
            - configMapRef: {name: maybe, optional: true}
          ports:
            - {name: http, containerPort: 80}
          readinessProbe:
            httpGet: {port: http, path: /}
          resources:
            requests: {nvidia.com/gpu: 2, cpu: 1}
            limits: {nvidia.com/gpu: 2, cpu: 2}
          volumeMounts:
            - {name: models, mountPath: /models}
      volumes:
        - name: models
          persistentVolumeClaim: {claimName: models}
---
apiVersion: v1
kind: Service
metadata:
  name: web
  namespace: prod
  labels: {app.kubernetes.io/instance: one}
spec:
  selector: {app: web, app.kubernetes.io/instance: one}
  ports:
    - {name: http, port: 80, targetPort: http}
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata:
  name: web
  namespace: prod
spec:
  selector:
    matchLabels: {app: web}
    matchExpressions: [{key: app, operator: In, values: [web]}]
  podMetricsEndpoints:
    - port: http
"""


def found(text: str) -> list[str]:
    manifests = read(text, "f")
    return [
        f"{item.at} {item.code} {item.message}" + (f" | {item.hint}" if item.hint else "")
        for item in objects.check(manifests, pods(manifests))
    ]


def one(text: str) -> str:
    (message,) = found(text)
    return message


def test_a_good_stream_passes() -> None:
    assert found(WEB) == []


MAIN = "Deployment/web: container main"
TWICE = " | Helm 4 and the API server refuse the second one"
LONG = "Linux starts no program with more than 131071 in one of them; put it in a file"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        # names that must be unique
        (
            "- name: HF_TOKEN\n",
            "- name: A\n",
            f"f:24:15 VS620 Deployment/web: two environment variables are called A in container main{TWICE}",
        ),
        (
            "- {name: models, mountPath: /models}",
            "- {name: models, mountPath: /m}\n            - {name: models, mountPath: /m/}",
            f"f:38:15 VS620 Deployment/web: two mounts are called /m in container main{TWICE}",
        ),
        (
            "- {name: http, containerPort: 80}",
            "- {name: http, containerPort: 80}\n            - {name: x, containerPort: 80}",
            f"f:31:15 VS620 Deployment/web: two ports are called 80/TCP in container main{TWICE}",
        ),
        (
            "- {name: http, containerPort: 80}",
            "- {name: http, containerPort: 80}\n            - {name: http, containerPort: 81}",
            f"f:31:15 VS620 Deployment/web: two ports are called http{TWICE}",
        ),
        (
            "- name: setup",
            "- name: main",
            f"f:19:11 VS620 Deployment/web: two containers are called main{TWICE}",
        ),
        # volumes
        (
            "{name: models, mountPath",
            "{name: model, mountPath",
            "f:37:22 VS621 Deployment/web: container main mounts model, no such volume | did you mean models?",
        ),
        (
            "        - name: models\n",
            "        - name: spare\n          emptyDir: {}\n        - name: models\n",
            "f:39:17 VS622 Deployment/web: volume spare is mounted nowhere",
        ),
        # ports
        (
            "httpGet: {port: http,",
            "httpGet: {port: htp,",
            "f:32:29 VS623 Deployment/web: readinessProbe asks port htp, which container main lacks | did you mean http?",
        ),
        (
            "targetPort: http",
            "targetPort: web",
            "f:51:42 VS642 Service/web: targetPort web is no port of Deployment/web | its ports: http",
        ),
        (
            "    - port: http",
            "    - port: metrics",
            "f:63:13 VS642 PodMonitor/web: port metrics is no port of Deployment/web | its ports: http",
        ),
        # devices
        (
            "requests: {nvidia.com/gpu: 2",
            "requests: {nvidia.com/gpu: 1",
            f"f:34:40 VS624 {MAIN} requests 1 nvidia.com/gpu but its limit is 2 | devices cannot be shared: both must be equal",
        ),
        (
            "limits: {nvidia.com/gpu: 2, cpu",
            "limits: {cpu",
            f"f:34:40 VS624 {MAIN} requests 2 nvidia.com/gpu without a limit | limits must say the same",
        ),
        (
            "{nvidia.com/gpu: 2, cpu: 1}\n            limits: {nvidia.com/gpu: 2,",
            "{cpu: 1}\n            limits: {vpc.amazonaws.com/efa: 1.5,",
            f"f:35:45 VS624 {MAIN} asks for 1.5 vpc.amazonaws.com/efa, which is no whole number",
        ),
        # images
        (
            "registry:5000/web:1.0",
            "registry:5000/web",
            f"f:20:18 VS625 {MAIN}: image registry:5000/web has no tag | name a release or a digest",
        ),
        (
            "registry:5000/web:1.0",
            "web:latest",
            f"f:20:18 VS625 {MAIN}: image web:latest has the tag latest, which moves | name a release or a digest",
        ),
        ("          image: registry:5000/web:1.0\n", "", f"f:19:11 VS625 {MAIN} has no image"),
        # words that Linux does not pass on
        (
            "value: x",
            "value: " + "x" * 131070,
            f"f:23:22 VS628 {MAIN}: environment variable A has 131072 bytes | {LONG}",
        ),
        # placeholders
        (
            "value: x",
            "value: <your-value>",
            "f:23:22 VS626 Deployment/web: spec.template.spec.containers[main].env[A].value still says <your-value> | fill it in",
        ),
        (
            "claimName: models",
            "claimName: REPLACE_ME",
            "f:40:46 VS626 Deployment/web: spec.template.spec.volumes[models].persistentVolumeClaim.claimName still says REPLACE_ME | fill it in",
        ),
        (
            "value: x",
            "value: None",
            "f:23:22 VS626 Deployment/web: environment variable A is the text None | leave it out",
        ),
        # names and labels
        (
            "- name: setup",
            "- name: Set_up",
            "f:16:17 VS631 Deployment/web: container Set_up has a name that Kubernetes refuses | at most 63 lower-case letters, digits and inner hyphens",
        ),
        (
            "kind: Service\nmetadata:\n  name: web",
            "kind: Service\nmetadata:\n  name: 1web",
            "f:45:9 VS631 Service/1web has a name that Kubernetes refuses | lower-case letters, digits and inner hyphens, a letter first",
        ),
        (
            "kind: PodMonitor\nmetadata:\n  name: web\n  namespace: prod\n",
            "kind: PodMonitor\nmetadata:\n  name: web\n",
            "f:55:1 VS633 PodMonitor/web names no namespace while Deployment/web is in prod",
        ),
        # selectors
        (
            "  selector: {app: web, app.k",
            "  selector: {app: wb, app.k",
            "f:49:3 VS640 Service/web selects no rendered pod | Deployment/web has app is web",
        ),
        ("operator: In,", "operator: NotIn,", "f:59:3 VS640 PodMonitor/web selects no rendered pod"),
        (
            "    matchLabels: {app: web, app.k",
            "    matchLabels: {app: wb, app.k",
            "f:8:3 VS640 Deployment/web does not select the pods of its own template | Deployment/web has app is web",
        ),
    ],
)
def test_each_mistake_is_named_at_its_place(old: str, new: str, message: str) -> None:
    text = WEB.replace(old, new)
    assert text != WEB
    assert message in found(text)


def test_a_selector_without_the_release_finds_other_releases() -> None:
    text = WEB.replace("app: web", "app: server").replace("values: [web]", "values: [server]")
    text = text.replace(
        "  selector: {app: server, app.kubernetes.io/instance: one}\n", "  selector: {app: server}\n"
    )
    assert one(text) == (
        "f:49:3 VS641 Service/web selects pods of every release in the namespace"
        " | add app.kubernetes.io/instance: one"
    )


def test_pods_of_another_release_in_the_stream_are_named() -> None:
    other = (
        WEB.split("---\n")[0].replace("instance: one", "instance: two").replace("name: web", "name: b")
    )
    text = WEB + "---\n" + other.replace("matchLabels: {app: web, ", "matchLabels: {")
    text = text.replace(
        "  selector: {app: web, app.kubernetes.io/instance: one}\n", "  selector: {app: web}\n"
    )
    assert "f:49:3 VS641 Service/web of release one selects Deployment/b of release two" in found(text)


def test_an_object_rendered_twice_is_refused() -> None:
    service = WEB.split("---\n")[1]
    assert one(WEB + "---\n" + service) == "f:68:9 VS630 Service/web is rendered twice"


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("{a: " + "x" * 64 + "}", "VS632 Deployment/web: the value of label a has 64 characters"),
        ("{a: 'x y'}", "VS632 Deployment/web: label a cannot have the value 'x y'"),
        ("{a: x-}", "VS632 Deployment/web: label a cannot have the value 'x-'"),
        ("{-a: x}", "VS632 Deployment/web: label '-a' has a key that Kubernetes refuses"),
        ("{A.b/c: x}", "VS632 Deployment/web: label 'A.b/c' has a key that Kubernetes refuses"),
        ("{a.b/c_d: '', b: A.1}", ""),
    ],
)
def test_labels_have_a_syntax(labels: str, message: str) -> None:
    problems = found(
        WEB.replace(
            "labels: {app.kubernetes.io/instance: one}\nspec:\n  selector:\n    m",
            f"labels: {labels}\nspec:\n  selector:\n    m",
        )
    )
    assert [item.partition(" ")[2].partition(" |")[0] for item in problems] == (
        [message] if message else []
    )


def test_long_object_names_are_counted() -> None:
    assert (
        "the name has 254 characters, 253 are allowed"
        in found(WEB.replace("name: web", "name: " + "a" * 254))[0]
    )
    assert "the name has 64 characters, 63 are allowed" in "".join(
        found(WEB.replace("Service\nmetadata:\n  name: web", "Service\nmetadata:\n  name: " + "a" * 64))
    )


TOKEN = "hf_" + "abcdEFGH" * 4


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("value: x", f"value: {TOKEN}", "env[A].value holds a token in plain text"),
        (
            "              valueFrom: {secretKeyRef: {name: token, key: HF_TOKEN}}",
            f"              value: {TOKEN}",
            "env[HF_TOKEN].value holds a token",
        ),
        (
            "              valueFrom: {secretKeyRef: {name: token, key: HF_TOKEN}}",
            "              value: geheim-geheim",
            "environment variable HF_TOKEN holds a secret",
        ),
        ("- name: A\n", "- name: MY_API_KEY\n", "environment variable MY_API_KEY holds a secret"),
    ],
)
def test_secrets_are_found_and_never_shown(old: str, new: str, what: str) -> None:
    manifests = read(WEB.replace(old, new).replace("value: x", "value: some-secret-x"), "f")
    (item,) = objects.check(manifests, pods(manifests))
    assert item.code == "VS627"
    assert what in item.message
    shown = render(item)
    for secret in (TOKEN, "geheim", "some-secret"):
        assert secret not in shown


def test_secret_objects_are_refused_and_not_shown() -> None:
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: geheim1}\n"
    (item,) = objects.check(read(text, "f"), [])
    assert "stringData.password is a secret in a manifest" in item.message
    assert "geheim1" not in render(item)


@pytest.mark.parametrize("value", ["<think>", "None of these", "$(HF_HOME)/x", "{}", "a <b> c"])
def test_texts_that_only_look_like_placeholders_pass(value: str) -> None:
    assert found(WEB.replace("value: x", f"value: '{value}'")) == []


def test_none_as_an_argument_is_a_warning() -> None:
    text = WEB.replace("          env:\n", "          args: [--quantization, None]\n          env:\n")
    manifests = read(text, "f")
    (item,) = objects.check(manifests, pods(manifests))
    assert (item.code, item.severity, str(item.at)) == ("VS626", "warning", "f:21:34")


def test_cluster_wide_objects_name_no_namespace() -> None:
    text = WEB + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: prod, namespace: prod}\n"
    assert one(text) == "f:67:35 VS611 Namespace/prod is cluster-wide and has no namespace"
    assert found(text.replace(", namespace: prod}", "}")) == []


def test_a_second_namespace_is_a_warning() -> None:
    text = WEB + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: other}\n"
    manifests = read(text, "f")
    (item,) = objects.check(manifests, pods(manifests))
    assert (item.code, item.severity) == ("VS633", "warning")


def test_objects_without_kind_or_name_are_named() -> None:
    assert found("metadata: {name: a}\n") == ["f:1:1 VS601 an object lacks apiVersion and kind"]
    assert found("apiVersion: v1\nkind: Pod\n") == ["f:1:1 VS601 a Pod lacks metadata.name"]


SCALER = """\
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: prod}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
"""


@pytest.mark.parametrize(
    ("api", "kind", "message"),
    [
        (
            "v1",
            "K" * 300,
            "f:2:7 VS601 this is no kind of an object | a letter, then at most 62 letters and digits",
        ),
        (
            "v1",
            "../Pod",
            "f:2:7 VS601 this is no kind of an object | a letter, then at most 62 letters and digits",
        ),
        ("../x/v1", "Pod", "f:1:13 VS601 this is no API version | GROUP/VERSION, as in apps/v1"),
        ("v" * 400, "Pod", "f:1:13 VS601 this is no API version | GROUP/VERSION, as in apps/v1"),
    ],
)
def test_kinds_and_versions_that_none_has_lead_to_no_file(api: str, kind: str, message: str) -> None:
    manifests = read(f"apiVersion: {api}\nkind: {kind}\nmetadata: {{name: a}}\n", "f")
    told = [
        f"{item.at} {item.code} {item.message}" + (f" | {item.hint}" if item.hint else "")
        for item in run.checked(manifests, kubernetes_version=None, crd_dir=None)
    ]
    assert told == [message]


def test_autoscalers_need_their_target_and_free_replicas() -> None:
    assert found(WEB + SCALER) == []
    assert one(WEB + SCALER.replace("name: web}\n", "name: wb}\n")).startswith(
        "f:69:65 VS640 HorizontalPodAutoscaler/web scales Deployment/wb, which is not rendered"
    )
    scaled = WEB.replace(
        "spec:\n  selector:\n    matchLabels: {app: web, app",
        "spec:\n  replicas: 2\n  selector:\n    matchLabels: {app: web, app",
    )
    assert one(scaled + SCALER).startswith("f:8:13 VS643 Deployment/web sets replicas although")


def test_service_monitors_follow_services() -> None:
    monitor = (
        "---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\n"
        "metadata: {name: web, namespace: prod}\nspec:\n"
        "  selector: {matchLabels: {app.kubernetes.io/instance: one}}\n  endpoints: [{port: http}]\n"
    )
    assert found(WEB + monitor) == []
    assert "VS642 ServiceMonitor/web: port htp is no port of Service/web" in one(
        WEB + monitor.replace("port: http}", "port: htp}")
    )
    assert "VS640 ServiceMonitor/web selects no rendered Service" in one(
        WEB + monitor.replace("instance: one", "instance: two")
    )


def test_labels_that_controllers_add_count() -> None:
    text = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: one-decode}
spec:
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        containers: [{name: main, image: "a:1", ports: [{name: http, containerPort: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: one, labels: {app.kubernetes.io/instance: one}}
spec:
  selector:
    leaderworkerset.sigs.k8s.io/name: one-decode
    leaderworkerset.sigs.k8s.io/worker-index: "0"
  ports: [{port: 80, targetPort: http}]
"""
    assert found(text) == []
    assert "VS640" in one(text.replace("name: one-decode\n    lead", "name: two\n    lead"))


def test_ports_that_the_dynamo_operator_adds_count() -> None:
    text = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: qwen}
spec:
  components:
    - name: decode
      type: worker
      podTemplate:
        spec:
          containers:
            - name: main
              image: repo/vllm:1.4.0
              command: [python3, -m, dynamo.vllm]
              readinessProbe: {httpGet: {port: system, path: /health}}
"""
    assert found(text) == []
    assert "VS623" in one(text.replace("port: system", "port: http"))
    assert "VS623" in one(text.replace("type: worker", "type: frontend").replace("vllm]", "frontend]"))


def test_prerequisites_are_what_is_referred_to_and_not_rendered() -> None:
    assert prerequisites(read(WEB, "f")) == [
        "Prometheus operator (PodMonitor)",
        "Secret pull in namespace prod",
        "Secret token (key HF_TOKEN) in namespace prod",
        "PersistentVolumeClaim models in namespace prod",
    ]
    claim = (
        "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: models, namespace: prod}\n"
    )
    assert len(prerequisites(read(WEB + claim, "f"))) == 3


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("apiVersion: keda.sh/v1alpha1\nkind: ScaledObject", ["KEDA (ScaledObject)"]),
        (
            "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet",
            ["LeaderWorkerSet controller (LeaderWorkerSet)"],
        ),
        ("apiVersion: cert-manager.io/v1\nkind: Issuer", ["CRD of cert-manager.io/v1 (Issuer)"]),
        ("apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy", []),
        ("apiVersion: apps/v1\nkind: Deployment", []),
        (
            (
                "apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\n"
                "spec: {components: [{name: a, multinode: {nodeCount: 2}}]}"
            ),
            [
                "Dynamo operator (DynamoGraphDeployment)",
                "Grove, or LeaderWorkerSet with Volcano (DynamoGraphDeployment.multinode)",
            ],
        ),
        (
            (
                "apiVersion: monitoring.coreos.com/v1\nkind: PodMonitor\n---\n"
                "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule"
            ),
            ["Prometheus operator (PodMonitor, PrometheusRule)"],
        ),
        # What is defined beside it needs nobody.
        (
            (
                "apiVersion: cert-manager.io/v1\nkind: Issuer\n---\n"
                "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
                "spec: {group: cert-manager.io, names: {kind: Issuer}}"
            ),
            [],
        ),
    ],
)
def test_custom_resources_need_whoever_serves_them(body: str, lines: list[str]) -> None:
    assert prerequisites(read(body, "f")) == lines


def test_every_group_that_we_render_has_somebody_who_serves_it() -> None:
    known = facts.data("needs.yaml")["groups"]
    groups = {file.name.partition("_")[0] for file in (facts.share() / "schemas" / "crds").iterdir()}
    assert {group for group in groups if "." in group} <= set(known)


def test_what_a_rendered_object_makes_is_not_needed() -> None:
    pod = """
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: prod}
spec: {containers: [{name: a, env: [{name: T, valueFrom: {secretKeyRef: {name: made, key: k}}}]}]}
---
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: NAME, namespace: prod}
spec: TARGET
"""
    needed = "Secret made (key k) in namespace prod"
    operator = "External Secrets operator (ExternalSecret)"
    named = pod.replace("NAME", "x").replace("TARGET", "{target: {name: made}}")
    assert prerequisites(read(named, "f")) == [operator]
    assert prerequisites(read(pod.replace("NAME", "made").replace("TARGET", "{}"), "f")) == [operator]
    other = pod.replace("NAME", "x").replace("TARGET", "{target: {name: y}}")
    assert prerequisites(read(other, "f")) == [operator, needed]


def test_a_whole_secret_has_the_key_that_is_known_of_it() -> None:
    pod = """
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: prod}
spec: {containers: [{name: a, envFrom: [{secretRef: {name: hub}}, {secretRef: {name: other}}]}]}
"""
    assert prerequisites(read(pod, "f"), {"hub": "HF_TOKEN"}) == [
        "Secret hub (key HF_TOKEN) in namespace prod",
        "Secret other in namespace prod",
    ]


def test_objects_from_code_are_checked_without_places() -> None:
    (body,) = [item.body for item in read(WEB.split("---\n")[0], "f")]
    body["spec"]["template"]["spec"]["containers"][0]["image"] = "web"
    manifests = wrap([body])
    (item,) = objects.check(manifests, pods(manifests))
    assert item.at is None
    assert item.code == "VS625"


def test_words_are_counted_in_bytes_up_to_what_linux_takes() -> None:
    def told(word: str) -> list[str]:
        image = "image: registry:5000/web:1.0"
        return found(WEB.replace(image, f"{image}\n          args: ['{word}']"))

    assert told("é" * 65535) == []
    assert told("é" * 65535 + "a") == []
    assert told("é" * 65536) == [
        f"f:21:18 VS628 {MAIN}: a word of its command line has 131072 bytes | {LONG}"
    ]
