// A Go server (net/http over TLS): the same code that writes kube-apiserver's "http: TLS handshake error". Runs only if `go` is
// installed.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startBackend, type TlsBackend, testCertificate } from './tls-backend.ts';

const SOURCE = `package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
)

type event struct {
	Event string \`json:"event"\`
	Port  int    \`json:"port,omitempty"\`
	Line  string \`json:"line,omitempty"\`
}

func say(e event) { out, _ := json.Marshal(e); fmt.Println(string(out)) }

type sayer struct{}

func (sayer) Write(p []byte) (int, error) {
	say(event{Event: "log", Line: strings.TrimSpace(string(p))})
	return len(p), nil
}

type counting struct{ net.Listener }

func (l counting) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		say(event{Event: "connection"})
	}
	return conn, err
}

func main() {
	listener, err := net.Listen("tcp", os.Args[3])
	if err != nil {
		panic(err)
	}
	say(event{Event: "listening", Port: listener.Addr().(*net.TCPAddr).Port})
	server := &http.Server{ErrorLog: log.New(sayer{}, "", 0)}
	panic(server.ServeTLS(counting{listener}, os.Args[2], os.Args[1]))
}
`;

/** The path of the built server, or why it is missing. /run belongs to the sandbox and is deleted with it. */
export function buildGoBackend(): { binary: string } | { missing: string } {
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' });
  } catch {
    return { missing: 'go is not installed' };
  }
  const directory = mkdtempSync('/run/isthmus-go-');
  const source = join(directory, 'main.go');
  const binary = join(directory, 'backend');
  writeFileSync(source, SOURCE);
  // Standard library only: no module and no network.
  const env = { ...process.env, GOFLAGS: '-mod=mod', GOPROXY: 'off', GOTOOLCHAIN: 'local', CGO_ENABLED: '0' };
  try {
    execFileSync('go', ['build', '-o', binary, source], {
      cwd: directory,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  } catch (error) {
    return { missing: `go build failed: ${(error as Error).message}` };
  }
  return { binary };
}

export function startGoBackend(binary: string, netns: string, address: string): Promise<TlsBackend> {
  const { key, cert } = testCertificate();
  return startBackend(netns, [binary, key, cert, address]);
}
