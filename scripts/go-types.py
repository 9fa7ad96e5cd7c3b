#!/usr/bin/env python3
"""Prints the table of Kubernetes' Go types that the API server decodes bodies by (clusters/apiserver/src/kind/types/go.txt).

usage: scripts/go-types.py KUBECTL > clusters/apiserver/src/kind/types/go.txt

A Go program carries its types at run time, with the tags of their fields: the name in JSON and the number in protobuf.
So any kubectl for Linux on amd64 (an ELF file with no relocations) contains exactly the types that clients of its release send.
The form of the table is described in clusters/apiserver/src/kind/types/table.rs.
"""

import re
import struct
import sys

# The types of bodies, by package. All types that can be reached from these are printed.
ROOTS = {
    "admissionregistration/v1": "MutatingWebhookConfiguration ValidatingWebhookConfiguration ValidatingAdmissionPolicy"
    " ValidatingAdmissionPolicyBinding",
    "apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "authentication/v1": "SelfSubjectReview TokenRequest TokenReview",
    "authorization/v1": "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
    "autoscaling/v1": "HorizontalPodAutoscaler Scale",
    "autoscaling/v2": "HorizontalPodAutoscaler",
    "batch/v1": "CronJob Job",
    "certificates/v1": "CertificateSigningRequest",
    "coordination/v1": "Lease",
    "core/v1": "Binding ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod"
    " PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount",
    "discovery/v1": "EndpointSlice",
    "events/v1": "Event",
    "flowcontrol/v1": "FlowSchema PriorityLevelConfiguration",
    "meta/v1": "DeleteOptions",
    "networking/v1": "Ingress IngressClass NetworkPolicy",
    "node/v1": "RuntimeClass",
    "policy/v1": "Eviction PodDisruptionBudget",
    "policy/v1beta1": "Eviction",
    "rbac/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "scheduling/v1": "PriorityClass",
    "storage/v1": "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment",
}
# These types encode and decode themselves, so the decoder knows them by name.
OWN = {"resource.Quantity", "meta/v1.Time", "meta/v1.MicroTime", "meta/v1.Duration", "meta/v1.FieldsV1",
       "intstr.IntOrString", "runtime.RawExtension"}
KINDS = ("invalid bool int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 uintptr float32 float64 complex64"
         " complex128 array chan func interface map ptr slice string struct unsafeptr").split()
NAMED, UNCOMMON = 4, 1
HEADS = {"ptr": 56, "slice": 56, "struct": 80, "map": 88, "array": 72, "chan": 64, "func": 56, "interface": 80}


class Binary:
    """The runtime type information of a Go binary."""

    def __init__(self, path):
        self.bytes = open(path, "rb").read()
        self.sections = self.read_sections()
        self.types, self.links = self.find_module()

    def read_sections(self):
        (table,) = struct.unpack_from("<Q", self.bytes, 0x28)
        size, count, names = struct.unpack_from("<HHH", self.bytes, 0x3A)
        rows = [struct.unpack_from("<IIQQQQ", self.bytes, table + index * size) for index in range(count)]
        text = lambda at: self.bytes[at : self.bytes.index(b"\0", at)].decode()
        return {text(rows[names][4] + row[0]): row[3:6] for row in rows}

    def offset(self, address):
        for name, (start, offset, size) in self.sections.items():
            if start <= address < start + size and start and not name.endswith("bss"):
                return address - start + offset
        raise KeyError(hex(address))

    def words(self, address, count):
        return struct.unpack_from(f"<{count}Q", self.bytes, self.offset(address))

    def find_module(self):
        """Returns the address of the first type, and the addresses of the types that are linked by name."""
        wanted = struct.pack("<Q", self.sections[".gopclntab"][0])
        for section in (".noptrdata", ".data", ".go.module"):
            start, offset, size = self.sections.get(section, (0, 0, 0))
            at = self.bytes.find(wanted, offset, offset + size)
            while at >= 0:
                words = struct.unpack_from("<46Q", self.bytes, at)
                if words[22] == self.sections[".text"][0]:
                    count = words[45]
                    offsets = struct.unpack_from(f"<{count}i", self.bytes, self.offset(words[44]))
                    return words[37], [words[37] + offset for offset in offsets]
                at = self.bytes.find(wanted, at + 8, offset + size)
        sys.exit("this is no Go binary of a form that is known")

    def name(self, address):
        """Reads a name and its tag."""
        at = self.offset(address)
        flags, at = self.bytes[at], at + 1

        def text(at):
            length = shift = 0
            while True:
                byte, at = self.bytes[at], at + 1
                length, shift = length | (byte & 127) << shift, shift + 7
                if byte < 128:
                    return self.bytes[at : at + length].decode(), at + length

        name, at = text(at)
        return name, text(at)[0] if flags & 2 else ""


def short(package):
    package = re.sub(r"^k8s\.io/(api|apimachinery/pkg/(apis|api|util)|apimachinery/pkg)/", "", package)
    return package


class Types:
    """The named types of a binary: structs with their fields, and other types with their underlying type."""

    def __init__(self, binary):
        self.binary, self.named, self.seen = binary, {}, {}
        for address in binary.links:
            self.read(address)

    def read(self, address):
        """Returns the text of a type in the table."""
        if address in self.seen:
            return self.seen[address]
        binary = self.binary
        at = binary.offset(address)
        flags, kind = binary.bytes[at + 20], KINDS[binary.bytes[at + 23] & 31]
        below = lambda index: self.read(binary.words(address + 48, 2)[index])
        if not flags & NAMED:
            written = {"ptr": lambda: "*" + below(0), "slice": lambda: "[]" + below(0),
                       "map": lambda: f"map[{below(0)}]{below(1)}"}.get(kind, lambda: kind)
            self.seen[address] = written()
            return self.seen[address]
        (name,) = struct.unpack_from("<i", binary.bytes, at + 40)
        name = binary.name(binary.types + name)[0].lstrip("*")
        if flags & UNCOMMON:
            (package,) = struct.unpack_from("<i", binary.bytes, at + HEADS.get(kind, 48))
            if package:
                name = short(binary.name(binary.types + package)[0]) + "." + name.split(".", 1)[-1]
        if "." not in name:
            self.seen[address] = name
            return name
        self.seen[address] = name
        if kind == "struct":
            first, count = binary.words(address + 56, 2)
            fields = [binary.words(first + 24 * index, 2) for index in range(count)]
            self.named[name] = [(*binary.name(field), self.read(of)) for field, of in fields]
        else:
            parts = {"slice": lambda: "[]" + below(0), "map": lambda: f"map[{below(0)}]{below(1)}"}
            self.named[name] = parts.get(kind, lambda: kind)()
        return name


def row(name, tag, of):
    """Returns a field: its number, its name (. if it is inlined), its type, and ? if it is left out when empty."""
    json = re.search(r'json:"([^"]*)"', tag)
    number = re.search(r'protobuf:"\w+,(\d+),', tag)
    label, *options = (json.group(1) if json else name).split(",")
    if label == "-":
        return None
    label = "." if "inline" in options or not label else label
    return f"{number.group(1) if number else 0} {label} {of}{' ?' if 'omitempty' in options else ''}"


def main():
    types = Types(Binary(sys.argv[1])).named
    waiting = [f"{package}.{name}" for package, names in ROOTS.items() for name in names.split()]
    reached = set(OWN)
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        found = types[name]
        texts = [found] if isinstance(found, str) else [of for _, _, of in found]
        waiting += [part for text in texts for part in re.findall(r"[\w/]+\.\w+", text)]
    for name in sorted(reached - OWN):
        found = types[name]
        if isinstance(found, str):
            print(f"{name} = {found}")
        else:
            print(name)
            rows = (row(*field) for field in found)
            print("\n".join(f" {text}" for text in rows if text))


if __name__ == "__main__":
    main()
