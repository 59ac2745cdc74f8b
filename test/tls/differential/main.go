// Go's view of ClientHellos: one hello in hex per line of standard input, one line of answer each: `name <hex>`,
// `none`, `incomplete` or `error <what>`. Opens no connection: the bytes come from memory. Standard library only.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

var errSeen = errors.New("we have what we want")

// memory is a connection that has sent its bytes and waits.
type memory struct{ *bytes.Reader }

func (memory) Write(data []byte) (int, error)     { return len(data), nil }
func (memory) Close() error                       { return nil }
func (memory) LocalAddr() net.Addr                { return &net.TCPAddr{} }
func (memory) RemoteAddr() net.Addr               { return &net.TCPAddr{} }
func (memory) SetDeadline(time.Time) error        { return nil }
func (memory) SetReadDeadline(time.Time) error    { return nil }
func (memory) SetWriteDeadline(t time.Time) error { return nil }

func view(hello []byte) string {
	seen := ""
	config := &tls.Config{
		MinVersion: tls.VersionTLS10,
		GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
			seen = "none"
			if info.ServerName != "" {
				seen = "name " + hex.EncodeToString([]byte(info.ServerName))
			}
			return nil, errSeen
		},
	}
	err := tls.Server(memory{bytes.NewReader(hello)}, config).Handshake()
	switch {
	case seen != "":
		return seen
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return "incomplete"
	default:
		return "error " + strings.ReplaceAll(err.Error(), " ", "-")
	}
}

func main() {
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	for {
		line, err := input.ReadString('\n')
		if err != nil {
			return
		}
		hello, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(output, view(hello))
	}
}
