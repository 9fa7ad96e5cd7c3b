#!/usr/bin/env bash
# Runs kubectl against a bare API server, as a new user would. Prints a line for each check, and fails if a check fails.
# KUBECTL names the kubectl, and CAPSIZE a built capsize. Without them, kubectl is found in PATH, and capsize is built.
set -uo pipefail
cd "$(dirname "$0")/.."

kubectl=${KUBECTL:-kubectl}
if ! command -v "$kubectl" >/dev/null; then
    echo "SKIP: there is no kubectl on this machine"
    exit 0
fi
if [ -z "${CAPSIZE:-}" ]; then
    cargo build --release || exit 3
    CAPSIZE=target/release/capsize
fi

work=$(mktemp -d)
"$CAPSIZE" up --members 0 --controllers none --kubeconfigs "$work" >"$work/up.txt" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 100); do
    grep -q 'Ctrl-C' "$work/up.txt" && break
    kill -0 "$server" 2>/dev/null || { cat "$work/up.txt"; exit 3; }
    sleep 0.1
done
export KUBECONFIG=$work/all.yaml HOME=$work KUBECTL_EXTERNAL_DIFF="diff -u -N"
"$kubectl" version 2>/dev/null | head -3

failed=0
passed=0

# check NAME WANTED COMMAND...: the command must succeed, and its output must match the extended regular expression WANTED.
check() { expect 0 "$@"; }

# expect CODE NAME WANTED COMMAND...: the same check with another exit code.
expect() {
    local code=$1 name=$2 wanted=$3 output got
    shift 3
    [ "$1" = k ] && { shift; set -- "$kubectl" "$@"; }
    output=$(timeout 60 "$@" 2>&1)
    got=$?
    if [ "$got" = "$code" ] && grep -Eq -- "$wanted" <<<"$output"; then
        passed=$((passed + 1))
        printf 'ok    %s\n' "$name"
    else
        failed=$((failed + 1))
        printf 'FAIL  %s (exit code %s, want %s and /%s/)\n' "$name" "$got" "$code" "$wanted"
        sed 's/^/        /' <<<"$output" | head -12
    fi
}

k() { "$kubectl" "$@"; }

# set_status NAME REPLICAS: writes the status that the controller of a Deployment writes when all replicas are up.
set_status() {
    local generation
    generation=$(k get deployment "$1" -o 'jsonpath={.metadata.generation}')
    k get --raw "/apis/apps/v1/namespaces/default/deployments/$1" |
        sed -E 's/"status":\{[^{}]*\}/"status":{"observedGeneration":'"$generation"',"replicas":'"$2"',"updatedReplicas":'"$2"',"readyReplicas":'"$2"',"availableReplicas":'"$2"'}/' |
        k replace --raw "/apis/apps/v1/namespaces/default/deployments/$1/status" -f - >/dev/null
}

cat >"$work/web.yaml" <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "nginx:1.27"}]}
YAML
sed 's/replicas: 2/replicas: 3/' "$work/web.yaml" >"$work/web-3.yaml"
cat >"$work/config.yaml" <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: config}
data: {mode: fast}
YAML
sed 's/replicas: 2/replcas: 2/' "$work/web.yaml" >"$work/typo.yaml"
cat >"$work/node.yaml" <<'YAML'
apiVersion: v1
kind: Node
metadata: {name: node-1}
status: {conditions: [{type: Ready, status: "True", reason: KubeletReady}]}
YAML

check "get namespaces" 'kube-system +Active' k get namespaces
check "api-resources" 'deployments +deploy +apps/v1 +true +Deployment' k api-resources
check "api-versions" '^apps/v1$' k api-versions
check "cluster-info" 'control plane.* is running at' k cluster-info
check "get --raw" '^ok$' k get --raw /readyz
check "explain" 'FIELD|KIND: +Deployment' k explain deployment.spec.replicas
check "explain a built-in list" 'containers' k explain pod.spec
check "auth can-i" '^yes$' k auth can-i create deployments

check "create configmap" 'configmap/first created' k create configmap first --from-literal=key=value
expect 1 "create what is there" 'already exists' k create configmap first
check "create secret" 'secret/hidden created' k create secret generic hidden --from-literal=key=value
check "create namespace" 'namespace/other created' k create namespace other
check "run a pod" 'pod/box created' k run box --image=busybox
check "create deployment" 'deployment.apps/made created' k create deployment made --image=nginx
check "create --dry-run=server" 'server dry run' k create -f "$work/web.yaml" --dry-run=server
expect 1 "create --validate refuses a typo" 'replcas' k create -f "$work/typo.yaml" --validate=true

check "apply creates" 'deployment.apps/web created' k apply -f "$work/web.yaml"
check "apply again" 'deployment.apps/web unchanged' k apply -f "$work/web.yaml"
expect 1 "diff" '^\+  replicas: 3' k diff -f "$work/web-3.yaml"
check "apply changes" 'deployment.apps/web configured' k apply -f "$work/web-3.yaml"
check "diff of nothing" '' k diff -f "$work/web-3.yaml"
check "apply --server-side" 'configmap/config serverside-applied' k apply --server-side -f "$work/config.yaml"
expect 1 "a conflict of appliers" 'conflict with "kubectl"' \
    bash -c "sed 's/fast/slow/' '$work/config.yaml' | '$kubectl' apply --server-side --field-manager=other -f -"
check "a conflict forced" 'serverside-applied' \
    bash -c "sed 's/fast/slow/' '$work/config.yaml' | '$kubectl' apply --server-side --field-manager=other --force-conflicts -f -"

check "get" '^web +0/3 +0 +0 +' k get deployment web
check "get -o wide" 'main +nginx:1.27 +app=web' k get deployment web -o wide
check "get -o yaml" '^  replicas: 3$' k get deployment web -o yaml
check "get -o json" '"replicas": 3' k get deployment web -o json
check "get -o name" '^deployment.apps/web$' k get deployments -o name
check "get -o jsonpath" '^3$' k get deployment web -o 'jsonpath={.spec.replicas}'
check "get -l" '^web ' k get deployments -l app=web
check "get --field-selector" '^box ' k get pods --field-selector metadata.name=box
check "get -A" 'default +web ' k get deployments -A
expect 1 "get what is not there" '\(NotFound\): deployments.apps "none" not found' k get deployment none
expect 1 "get a kind that is not there" "doesn't have a resource type" k get widgets
check "describe" 'StrategyType: +RollingUpdate' k describe deployment web

check "label" 'labeled' k label deployment web tier=front
check "label is there" '^web ' k get deployments -l tier=front
check "label removed" '(unlabeled|labeled)' k label deployment web tier-
check "annotate" 'annotated' k annotate deployment web note=here
check "scale" 'scaled' k scale deployment web --replicas=2
check "set image" 'image updated' k set image deployment/web main=nginx:1.28
check "edit" 'edited' env KUBE_EDITOR="sed -i s/nginx:1.28/nginx:1.29/" "$kubectl" edit deployment web
check "edit is there" 'nginx:1.29' k get deployment web -o yaml
check "patch, strategic" 'patched' k patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"busybox"}]}}}}'
check "patch, strategic, kept the other container" '^side main$|^main side$' k get deployment web -o 'jsonpath={.spec.template.spec.containers[*].name}'
check "patch, merge" 'patched' k patch deployment web --type=merge -p '{"spec":{"paused":true}}'
check "patch, json" 'patched' k patch deployment web --type=json -p '[{"op":"remove","path":"/spec/paused"}]'
check "replace" 'replaced' bash -c "'$kubectl' get configmap config -o yaml | '$kubectl' replace -f -"

set_status web 2
check "rollout status" 'successfully rolled out' k rollout status deployment/web --timeout=30s
check "rollout restart" 'restarted' k rollout restart deployment/web

check "create node" 'node/node-1 created' k create -f "$work/node.yaml"
check "taint nodes" 'tainted' k taint nodes node-1 failing=yes:NoExecute
check "taint is there" 'failing' k get node node-1 -o 'jsonpath={.spec.taints[*].key}'
check "taint removed" 'untainted' k taint nodes node-1 failing:NoExecute-
check "wait --for=condition" 'condition met' k wait --for=condition=Ready node/node-1 --timeout=30s
check "cordon" 'cordoned' k cordon node-1
check "cordon is seen" 'SchedulingDisabled' k get nodes
check "uncordon" 'uncordoned' k uncordon node-1

cat >"$work/event.yaml" <<'YAML'
apiVersion: v1
kind: Event
metadata: {name: box.1, namespace: default}
involvedObject: {kind: Pod, name: box, namespace: default}
reason: Tested
message: an event of a test
type: Normal
YAML
k get events --watch >"$work/events.txt" 2>&1 &
watcher=$!
check "create event" 'event/box.1 created' k create -f "$work/event.yaml"
for _ in $(seq 50); do grep -q 'Tested' "$work/events.txt" && break; sleep 0.1; done
check "get events --watch" 'Tested +pod/box +an event of a test' cat "$work/events.txt"
kill "$watcher" 2>/dev/null
wait "$watcher" 2>/dev/null

# owned NAME: prints a config map whose owner is the Deployment `made`, with its current uid.
owned() {
    local uid
    uid=$(k get deployment made -o 'jsonpath={.metadata.uid}')
    k create -f - >/dev/null <<YAML
apiVersion: v1
kind: ConfigMap
metadata:
  name: $1
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: made, uid: "$uid", blockOwnerDeletion: true}]
YAML
}
for cascade in background foreground orphan; do
    k get deployment made >/dev/null 2>&1 || k create deployment made --image=nginx >/dev/null
    owned "of-$cascade"
    check "delete --cascade=$cascade" 'deployment.apps "made" deleted' k delete deployment made --cascade=$cascade --timeout=30s
    if [ $cascade = orphan ]; then
        check "its dependent stays" 'configmap/of-orphan' k get configmap of-orphan -o name
    else
        expect 1 "its dependent goes ($cascade)" 'NotFound' k get configmap "of-$cascade"
    fi
done
check "delete pod --now" 'deleted' k delete pod box --now --timeout=30s
check "delete -l" 'deleted' k delete deployments -l app=web
check "delete namespace" 'deleted' k delete namespace other --timeout=30s
k create configmap going >/dev/null
k wait --for=delete configmap/going --timeout=30s >"$work/wait.txt" 2>&1 &
waiter=$!
sleep 1 # An old kubectl must find the object before it is gone.
check "delete what is waited for" 'deleted' k delete configmap going
check "wait --for=delete" '' bash -c "tail --pid=$waiter -f /dev/null && ! grep -i error '$work/wait.txt'"
expect 1 "delete what is not there" 'NotFound' k delete configmap none
check "delete --ignore-not-found" '' k delete configmap none --ignore-not-found

kill -TERM "$server"
wait "$server"
stopped=$?
[ "$stopped" = 0 ] || { failed=$((failed + 1)); echo "FAIL  the server stopped with exit code $stopped"; }
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
