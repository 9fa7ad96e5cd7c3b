"""A small client for the API server of a kubeconfig. It uses the standard library of Python only."""

import base64
import http.client
import json
import os
import re
import ssl
import tempfile

GROUP = "/apis/zones.example.com/v1"
ZONES, APPS = GROUP + "/zones", GROUP + "/apps"
# Bundles and Leases of all zones are in one namespace.
BUNDLES = GROUP + "/namespaces/zones/bundles"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/zones/leases"


class Refused(Exception):
    """The API server refused a request."""


class Api:
    """One API server. A request that gets no answer within `timeout` seconds raises OSError."""

    def __init__(self, kubeconfig, timeout=5):
        with open(kubeconfig) as file:
            text = file.read()

        # YAML is not in the standard library. The kubeconfigs of Capsize have one cluster and one user, and each field
        # that is read here is on a line of its own.
        def field(name):
            return re.search(rf'^[\s-]*{name}: *["\']?([^"\'\s]+)', text, re.MULTILINE).group(1)

        authority = base64.b64decode(field("certificate-authority-data")).decode()
        self.tls = ssl.create_default_context(cadata=authority)
        pem = base64.b64decode(field("client-certificate-data")) + b"\n" + base64.b64decode(field("client-key-data"))
        # Python reads the certificate of a client from a file only.
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.write(pem)
        self.tls.load_cert_chain(file.name)
        os.remove(file.name)
        self.host = field("server").removeprefix("https://")
        self.timeout, self.connection = timeout, None

    def request(self, method, path, body=None, content="application/json"):
        """Makes a request, and returns the object in the answer. A missing object is None."""
        headers = {"Content-Type": content, "Accept": "application/json"}
        try:
            if self.connection is None:
                self.connection = http.client.HTTPSConnection(self.host, timeout=self.timeout, context=self.tls)
            self.connection.request(method, path, body and json.dumps(body), headers)
            answer = self.connection.getresponse()
            status, text = answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            # The next request opens a new connection.
            self.connection and self.connection.close()
            self.connection = None
            raise OSError(f"{method} {path}: {error!r}") from error
        if status == 404:
            return None
        if status >= 300:
            raise Refused(f"{method} {path}: {status} {text.decode()}")
        return json.loads(text)

    def list(self, path, selector=""):
        return self.request("GET", f"{path}?labelSelector={selector}")["items"]

    def create(self, path, body):
        return self.request("POST", path, body)

    def patch(self, path, body):
        return self.request("PATCH", path, body, "application/merge-patch+json")

    def apply(self, path, body):
        return self.request(
            "PATCH", path + "?fieldManager=zones&force=true", body, "application/apply-patch+yaml"
        )

    def delete(self, path):
        return self.request("DELETE", path)
