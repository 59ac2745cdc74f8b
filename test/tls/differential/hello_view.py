"""OpenSSL's view of ClientHellos, through Python's ssl: one hello in hex per line of standard input, one line of
answer each: `name <hex>`, `none`, `incomplete` or `error <what>`. Opens no connection: the bytes come from memory."""

import ssl
import sys

seen = None


def on_server_name(_connection, name, _context):
    global seen
    seen = "none" if name is None else "name " + name.encode().hex()
    return ssl.ALERT_DESCRIPTION_HANDSHAKE_FAILURE  # We have what we want.


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.minimum_version = ssl.TLSVersion.TLSv1
context.set_ciphers("ALL:@SECLEVEL=0")
context.sni_callback = on_server_name
# A name that is not ASCII fails within Python, after OpenSSL has let it pass: an error like any other.
sys.unraisablehook = lambda _: None

for line in sys.stdin:
    seen = None
    incoming = ssl.MemoryBIO()
    incoming.write(bytes.fromhex(line.strip()))
    connection = context.wrap_bio(incoming, ssl.MemoryBIO(), server_side=True)
    try:
        connection.do_handshake()
        failure = "error none"
    except ssl.SSLWantReadError:
        failure = "incomplete"
    except ssl.SSLError as error:
        failure = "error " + str(error.reason).replace(" ", "-")
    print(failure if seen is None else seen)
