# Stands in for magnum-cluster-api-proxy on a network node: a main process that renews the timestamp of one EndpointSlice every two
# seconds and never deletes it, and a child that serves clients, as its HAProxy does. Arguments: cluster, netns, address of the cluster.
import ctypes, datetime, json, os, re, select, socket, ssl, sys, threading, time, urllib.error, urllib.request, base64

CLUSTER, NETNS, TARGET = sys.argv[1:]
BIND, PORT = os.environ['PROXY_BIND'], int(os.environ['PROXY_PORT'])
HOST = socket.gethostname()
PREFIX = 'magnum-cluster-api.vexxhost.com/'


def open_port():
    try:
        return socket.create_server((BIND, PORT), backlog=1024)
    except OSError:  # as upstream does, without a message
        return socket.create_server((BIND, 0), backlog=1024)


def serve(listener):
    while True:
        client, _ = listener.accept()
        threading.Thread(target=relay, args=(client,), daemon=True).start()


def relay(client):
    with open('/run/netns/' + NETNS) as netns:
        if ctypes.CDLL(None, use_errno=True).setns(netns.fileno(), 0x40000000) != 0:
            os._exit(1)
    with client, socket.create_connection((TARGET, 6443)) as backend:
        peers = {client: backend, backend: client}
        while True:
            for ready in select.select(list(peers), [], [])[0]:
                data = ready.recv(65536)
                if not data:
                    return
                peers[ready].sendall(data)


def publish(port):
    text = open(os.path.expanduser('/var/lib/capi_proxy/.kube/config')).read()
    found = lambda name: re.search(r'"?%s"?: *"?([^"\s,}]+)' % name, text).group(1)
    context = ssl.create_default_context(cadata=base64.b64decode(found('certificate-authority-data')).decode())
    place = found('server') + '/apis/discovery.k8s.io/v1/namespaces/magnum-system/endpointslices'
    headers = {'Authorization': 'Bearer ' + found('token'), 'Content-Type': 'application/json'}
    name = CLUSTER + '-' + HOST

    def ask(method, url, body):
        request = urllib.request.Request(url, method=method, headers=headers, data=json.dumps(body).encode())
        urllib.request.urlopen(request, context=context, timeout=5).read()

    while True:
        now = datetime.datetime.now(datetime.timezone.utc).isoformat()
        labels = {'kubernetes.io/service-name': CLUSTER, PREFIX + 'node': HOST, PREFIX + 'proxied-cluster': CLUSTER, PREFIX + 'proxied-service': 'true'}
        slice = {
            'apiVersion': 'discovery.k8s.io/v1', 'kind': 'EndpointSlice', 'addressType': 'IPv4',
            'metadata': {'name': name, 'labels': labels, 'annotations': {PREFIX + 'timestamp': now}},
            'endpoints': [{'addresses': [BIND], 'conditions': {'ready': True}, 'nodeName': HOST}],
            'ports': [{'name': 'https', 'port': port, 'protocol': 'TCP'}],
        }
        try:
            try:
                headers['Content-Type'] = 'application/merge-patch+json'
                ask('PATCH', place + '/' + name, {key: slice[key] for key in ('metadata', 'ports')})
            except urllib.error.HTTPError as error:
                if error.code != 404:
                    raise
                headers['Content-Type'] = 'application/json'
                ask('POST', place, slice)
        except (OSError, urllib.error.URLError) as error:
            print(error, flush=True)
        time.sleep(2)


listener = open_port()
if os.fork() == 0:
    serve(listener)
else:
    publish(listener.getsockname()[1])
