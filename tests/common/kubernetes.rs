//! A double of the part of the Kubernetes API that `kubectl` uses for nodes and jobs. It runs the
//! command of a job as a local process.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};

use super::Bench;

const CAMPAIGN: &str = "rusty-stack-bench/campaign";

/// A job and its process; `None` if its pod cannot be scheduled.
struct RunningJob {
    manifest: Value,
    node: String,
    child: Option<Child>,
}

#[derive(Default)]
struct State {
    nodes: Vec<Value>,
    jobs: BTreeMap<String, RunningJob>,
    /// Node on which no pod can be scheduled.
    full: Option<String>,
    is_forbidden: bool,
    /// Most jobs that ran at the same time.
    most_at_once: usize,
}

/// A running double, whose jobs end when this value is dropped.
pub struct Api {
    state: Arc<Mutex<State>>,
    port: u16,
}

impl Api {
    /// Starts the double with six nodes, a cordoned one and a control plane; or records that
    /// `kubectl` is missing.
    pub fn start() -> Option<Self> {
        if Command::new("kubectl").args(["version", "--client"]).output().is_err() {
            test_needs::missing("kubectl", "no kubectl in PATH");
            return None;
        }
        let mut nodes: Vec<Value> = (0..6).map(|at| node(&format!("n{at}"))).collect();
        let mut cordoned = node("n6");
        cordoned["spec"] = json!({ "unschedulable": true });
        let mut control = node("n7");
        let key = "node-role.kubernetes.io/control-plane";
        control["spec"] = json!({ "taints": [{ "key": key, "effect": "NoSchedule" }] });
        nodes.extend([cordoned, control]);
        let state = Arc::new(Mutex::new(State { nodes, ..State::default() }));
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || answer(stream, &state));
            }
        });
        Some(Self { state, port })
    }

    /// Returns a directory in which `kubectl` talks to the double.
    pub fn bench(&self) -> Bench {
        let bench = Bench::new();
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{
                "name": "double",
                "cluster": { "server": format!("http://127.0.0.1:{}", self.port) },
            }],
            "users": [{ "name": "user", "user": {} }],
            "contexts": [{ "name": "double", "context": { "cluster": "double", "user": "user" } }],
            "current-context": "double",
        });
        let path = bench.write("kubeconfig", &config.to_string()).display().to_string();
        let home = bench.cache.path().display().to_string();
        bench.set("KUBECONFIG", &path).set("HOME", &home)
    }

    /// Sets the node on which no pod can be scheduled.
    pub fn fill(&self, node: Option<&str>) {
        self.state.lock().unwrap().full = node.map(str::to_owned);
    }

    /// Refuses new jobs.
    pub fn forbid(&self) {
        self.state.lock().unwrap().is_forbidden = true;
    }

    /// Returns the manifests of the jobs that exist.
    pub fn jobs(&self) -> Vec<Value> {
        self.state.lock().unwrap().jobs.values().map(|job| job.manifest.clone()).collect()
    }

    /// Returns the most jobs that ran at the same time.
    pub fn most_at_once(&self) -> usize {
        self.state.lock().unwrap().most_at_once
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        for job in self.state.lock().unwrap().jobs.values_mut() {
            if let Some(child) = &mut job.child {
                let group = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
                let _ = kill_process_group(group, Signal::KILL);
                let _ = child.wait();
            }
        }
    }
}

fn node(name: &str) -> Value {
    json!({
        "metadata": { "name": name, "labels": {
            "kubernetes.io/hostname": name,
            "amd.com/gpu.product-name": "MI300X",
        } },
        "spec": {},
        "status": {
            "conditions": [{ "type": "Ready", "status": "True" }],
            "allocatable": { "amd.com/gpu": "8", "cpu": "64" },
            "nodeInfo": { "kernelVersion": "6.1", "kubeletVersion": "v1.32.4" },
        },
    })
}

impl State {
    fn running(&mut self) -> usize {
        let children = self.jobs.values_mut().filter_map(|job| job.child.as_mut());
        children.filter_map(|child| child.try_wait().unwrap().is_none().then_some(())).count()
    }

    /// Starts the process of a job, as the pod on its node would.
    fn create(&mut self, manifest: Value) {
        let pod = &manifest["spec"]["template"]["spec"];
        let affinity = &pod["affinity"]["nodeAffinity"];
        let terms = &affinity["requiredDuringSchedulingIgnoredDuringExecution"];
        let expression = &terms["nodeSelectorTerms"][0]["matchExpressions"][0];
        let node = expression["values"][0].as_str().unwrap().to_owned();
        let container = &pod["containers"][0];
        assert_eq!(container["env"][0]["valueFrom"]["fieldRef"]["fieldPath"], "spec.nodeName");
        let words = container["command"].as_array().unwrap();
        let words: Vec<&str> = words.iter().map(|word| word.as_str().unwrap()).collect();
        let mut child = None;
        if self.full.as_ref() != Some(&node) {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).process_group(0);
            command.env_clear().env("PATH", std::env::var("PATH").unwrap());
            command.env("FLEET_NODE", &node);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            child = Some(command.spawn().unwrap());
        }
        let name = manifest["metadata"]["name"].as_str().unwrap().to_owned();
        self.jobs.insert(name, RunningJob { manifest, node, child });
        self.most_at_once = self.running().max(self.most_at_once);
    }

    /// Returns the jobs, or their pods, of a campaign.
    fn list(&mut self, query: &str, is_pod: bool) -> Vec<Value> {
        let mut items = Vec::new();
        for job in self.jobs.values_mut() {
            let labels = &job.manifest["metadata"]["labels"];
            let selector = format!("{CAMPAIGN}={}", labels[CAMPAIGN].as_str().unwrap());
            if !query.contains(&selector.replace('/', "%2F").replace('=', "%3D")) {
                continue;
            }
            let ended = job.child.as_mut().map(|child| child.try_wait().unwrap());
            items.push(if is_pod { pod_of(job, ended) } else { job_of(job, ended) });
        }
        items
    }
}

/// How the process of a job ended: `None` without a process, `Some(None)` while it runs.
#[allow(clippy::option_option)]
type Ended = Option<Option<std::process::ExitStatus>>;

fn job_of(job: &RunningJob, ended: Ended) -> Value {
    let mut item = job.manifest.clone();
    item["status"] = match ended.flatten() {
        None => json!({ "active": 1 }),
        Some(status) if status.success() => {
            json!({ "conditions": [{ "type": "Complete", "status": "True" }] })
        }
        Some(_) => json!({ "conditions": [
            { "type": "Failed", "status": "True", "reason": "BackoffLimitExceeded" },
        ] }),
    };
    item
}

fn pod_of(job: &RunningJob, ended: Ended) -> Value {
    let labels = job.manifest["spec"]["template"]["metadata"]["labels"].clone();
    let name = job.manifest["metadata"]["name"].as_str().unwrap();
    let status = match ended {
        None => json!({ "phase": "Pending", "conditions": [{
            "type": "PodScheduled",
            "status": "False",
            "message": "0/8 nodes are available: 1 Insufficient amd.com/gpu",
        }] }),
        Some(None) => json!({ "phase": "Running" }),
        Some(Some(status)) => json!({
            "phase": if status.success() { "Succeeded" } else { "Failed" },
        }),
    };
    json!({
        "metadata": { "name": format!("{name}-x"), "labels": labels },
        "spec": { "nodeName": job.node },
        "status": status,
    })
}

fn answer(stream: TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut first = String::new();
    if reader.read_line(&mut first).is_err() || first.is_empty() {
        return;
    }
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let words: Vec<&str> = first.split_whitespace().collect();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (code, text) = if words[1].starts_with("/openapi/v2") {
        (200, dry_run_schema())
    } else {
        let (code, document) = reply(words[0], words[1], body, &mut state.lock().unwrap());
        (code, document.to_string().into_bytes())
    };
    let head = format!(
        "HTTP/1.1 {code} x\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: \
         close\r\n\r\n",
        text.len()
    );
    let mut stream = stream;
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&text));
}

/// Returns the part of the `OpenAPI` schema, version 2 in Protocol Buffers, in which old versions of
/// `kubectl` look up whether jobs have dry runs.
fn dry_run_schema() -> Vec<u8> {
    let field = |number: u8, value: &[u8]| {
        let mut bytes = vec![(number << 3) | 2];
        let mut length = value.len();
        while length >= 128 {
            bytes.push(u8::try_from(length % 128).unwrap() | 128);
            length /= 128;
        }
        bytes.push(u8::try_from(length).unwrap());
        bytes.extend(value);
        bytes
    };
    // Document.paths.path.value.patch: its parameter "dryRun", and the kind that it is for.
    let parameter = field(8, &field(1, &field(2, &field(3, &field(4, b"dryRun")))));
    let kind = field(2, &field(2, b"{group: batch, version: v1, kind: Job}"));
    let kind = field(13, &[field(1, b"x-kubernetes-group-version-kind"), kind].concat());
    let patch = field(8, &[parameter, kind].concat());
    field(8, &field(2, &[field(1, b"/"), field(2, &patch)].concat()))
}

fn resource(name: &str, kind: &str, is_namespaced: bool) -> Value {
    json!({
        "name": name, "singularName": "", "namespaced": is_namespaced, "kind": kind,
        "verbs": ["get", "list", "create", "delete"],
    })
}

fn list_of(kind: &str, version: &str, items: &[Value]) -> Value {
    json!({ "kind": kind, "apiVersion": version, "metadata": {}, "items": items })
}

fn failure(code: u16, reason: &str, message: &str) -> (u16, Value) {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason,
        "message": message, "code": code,
    });
    (code, status)
}

fn reply(method: &str, target: &str, body: Value, state: &mut State) -> (u16, Value) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let jobs = "/apis/batch/v1/namespaces/bench/jobs";
    let version = json!({ "groupVersion": "batch/v1", "version": "v1" });
    let document = match (method, path) {
        ("GET", "/api") => json!({ "kind": "APIVersions", "versions": ["v1"] }),
        ("GET", "/apis") => json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": [
            { "name": "batch", "versions": [version], "preferredVersion": version },
        ] }),
        ("GET", "/api/v1") => json!({
            "kind": "APIResourceList",
            "groupVersion": "v1",
            "resources": [resource("nodes", "Node", false), resource("pods", "Pod", true)],
        }),
        ("GET", "/apis/batch/v1") => json!({
            "kind": "APIResourceList",
            "groupVersion": "batch/v1",
            "resources": [resource("jobs", "Job", true)],
        }),
        ("GET", "/api/v1/nodes") => list_of("NodeList", "v1", &state.nodes),
        ("GET", path) if path == jobs => list_of("JobList", "batch/v1", &state.list(query, false)),
        ("GET", "/api/v1/namespaces/bench/pods") => {
            list_of("PodList", "v1", &state.list(query, true))
        }
        ("POST", path) if path == jobs => {
            if state.is_forbidden {
                let message = "jobs.batch is forbidden: User \"user\" cannot create resource";
                return failure(403, "Forbidden", message);
            }
            if !query.contains("dryRun=All") {
                state.create(body.clone());
            }
            return (201, body);
        }
        ("DELETE", path) => {
            let name = path.strip_prefix(jobs).and_then(|name| name.strip_prefix('/')).unwrap();
            let Some(job) = state.jobs.remove(name) else {
                return failure(404, "NotFound", "no such job");
            };
            if let Some(mut child) = job.child {
                // Kubernetes signals the first process of a container.
                let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
                let _ = kill_process(pid, Signal::TERM);
                std::thread::spawn(move || child.wait());
            }
            json!({ "kind": "Status", "apiVersion": "v1", "status": "Success" })
        }
        _ => return failure(404, "NotFound", &format!("{method} {path}")),
    };
    (200, document)
}
