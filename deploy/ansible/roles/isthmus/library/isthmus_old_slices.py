#!/usr/bin/python3
# Lists the clusters that magnum-cluster-api-proxy offers from this host, by its EndpointSlices. With `connect`, only those where each
# endpoint accepts a connection. Changes nothing.
import base64
import functools
import json
import os
import socket
import ssl
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from ansible.module_utils.basic import AnsibleModule

NODE_LABEL = 'magnum-cluster-api.vexxhost.com/node'
# Isthmus gives its own slices the first label too while both proxies run.
SELECTOR = NODE_LABEL + ',!isthmus.dev/instance'
SERVICE_LABEL = 'kubernetes.io/service-name'
TIMEOUT_S = 10
CONNECT_S = 2


class Unusable(Exception):
    pass


def named(items, name, what):
    for item in items or []:
        if item.get('name') == name:
            return item.get(what) or {}
    raise Unusable('it has no %s %s' % (what, name))


def content(entry, name, directory):
    """The text of certificate-authority, client-certificate or client-key, which is a file or part of the kubeconfig."""
    if entry.get(name + '-data'):
        return base64.b64decode(entry[name + '-data']).decode()
    if entry.get(name):
        with open(os.path.join(directory, entry[name])) as file:
            return file.read()
    return None


def connection(text, directory):
    """Returns the URL, the headers and the TLS context of the current context."""
    config = json.loads(text)
    context = named(config.get('contexts'), config.get('current-context'), 'context')
    cluster = named(config.get('clusters'), context.get('cluster'), 'cluster')
    user = named(config.get('users'), context.get('user'), 'user')
    for entry, name in ((cluster, 'tls-server-name'), (cluster, 'proxy-url'), (user, 'exec'), (user, 'auth-provider')):
        if entry.get(name):
            raise Unusable('this role cannot use its %s' % name)
    tls = ssl.create_default_context(cadata=content(cluster, 'certificate-authority', directory))
    # Kubernetes accepts certificate authorities that Python 3.13 rejects by default.
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if cluster.get('insecure-skip-tls-verify'):
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    certificate = content(user, 'client-certificate', directory)
    if certificate:
        with tempfile.NamedTemporaryFile('w') as file:
            file.write(certificate + '\n' + content(user, 'client-key', directory))
            file.flush()
            tls.load_cert_chain(file.name)
    token = user.get('token')
    if not token and user.get('tokenFile'):
        with open(os.path.join(directory, user['tokenFile'])) as file:
            token = file.read().strip()
    return cluster['server'].rstrip('/'), {'Authorization': 'Bearer ' + token} if token else {}, tls


def addresses_of(each):
    return {address for endpoint in each.get('endpoints') or [] for address in endpoint.get('addresses') or []}


def offered(slices, nodes, addresses):
    for each in slices:
        if (each['metadata'].get('labels') or {}).get(NODE_LABEL) in nodes or addresses_of(each) & addresses:
            yield each


def cluster_of(each):
    return (each['metadata'].get('labels') or {}).get(SERVICE_LABEL, each['metadata']['name'])


@functools.lru_cache(maxsize=None)
def connects(address, port):
    """Tries each address and port once: the slices of all clusters name the same ones."""
    try:
        socket.create_connection((address, port), CONNECT_S).close()
    except OSError:
        return False
    return True


def accepts(each):
    """At the port of the slice: the old proxy takes a random one if PROXY_PORT is in use."""
    return all(connects(address, port['port']) for address in addresses_of(each) for port in each.get('ports') or [])


def main():
    module = AnsibleModule(
        argument_spec={
            # As JSON. `path` is its place on this host, for the files that it names.
            'kubeconfig': {'type': 'str', 'required': True, 'no_log': True},
            'path': {'type': 'str', 'required': True},
            'namespace': {'type': 'str', 'required': True},
            'nodes': {'type': 'list', 'elements': 'str', 'required': True},
            'addresses': {'type': 'list', 'elements': 'str', 'required': True},
            'connect': {'type': 'bool', 'default': False},
        },
        supports_check_mode=True,
    )
    given = module.params
    try:
        server, headers, tls = connection(given['kubeconfig'], os.path.dirname(given['path']))
        place = '/apis/discovery.k8s.io/v1/namespaces/%s/endpointslices?labelSelector=%s'
        url = server + place % (given['namespace'], urllib.parse.quote(SELECTOR))
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=tls))
        with opener.open(urllib.request.Request(url, headers=headers), timeout=TIMEOUT_S) as answer:
            slices = json.load(answer)['items']
    except (Unusable, KeyError, TypeError) as error:
        module.fail_json(msg='%s: %s' % (given['path'], error))
    except (OSError, ValueError) as error:
        module.fail_json(msg='cannot list the EndpointSlices of the old proxy: %s' % error)
    found = list(offered(slices, set(given['nodes']), set(given['addresses'])))
    refused = {cluster_of(each) for each in found if given['connect'] and not accepts(each)}
    module.exit_json(changed=False, clusters=sorted({cluster_of(each) for each in found} - refused))


if __name__ == '__main__':
    main()
