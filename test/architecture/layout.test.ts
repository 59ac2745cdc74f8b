// The sizes of folders and files: `ls` should show the architecture. `npm run check` runs this file.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const MAX_FILES = 25;
const MAX_LOOSE_SOURCES = 4;
const LEAST_LINES = 40;
const MOST_LINES = 300;

/** The files of src under 40 lines, each with the reason why it is not part of another file. A merged or a longer file loses its row. */
const SHORT_FILES: Readonly<Record<string, string>> = {
  'src/cli/config/label-values.ts':
    'the only reader of flag values that loads label code of kube and control',
  'src/cli/doctor/check.ts': 'the vocabulary of all checks: any check in this file would form a cycle',
  'src/cli/status-command.ts': 'each command is a file of its own, which main.ts loads on demand',
  'src/control-thread/fallen-backends.ts': 'one decision of the main thread about pending dials',
  'src/control/apply/kubernetes-status.ts': 'types that both threads and telemetry share',
  'src/control/desired/desired-context.ts':
    'the input of every decision of desired; any of them would form a cycle',
  'src/control/objects/problem.ts': 'a type of all stages and of telemetry',
  'src/control/objects/ready-check.ts': 'vocabulary of control and of the admin port',
  'src/control/objects/shown-value.ts': 'vocabulary of all stages',
  'src/control/objects/text-order.ts': 'vocabulary of all stages',
  'src/control/objects/wire-object.ts': 'a type of all stages that read or write objects',
  'src/control/plan/object-tags.ts': 'one rule of the Service plan and the slice plan',
  'src/control/sources/duplicate-key.ts': 'a workaround for the YAML parser, for manifests and kubeconfigs',
  'src/control/sources/listener-snapshot.ts': 'types of both sources, file and Kubernetes, and of world',
  'src/control/sources/network-id.ts': 'one security rule, for sources and world',
  'src/control/sources/yield-to-event-loop.ts': 'a mechanism without a subject of its own',
  'src/control/turn-result.ts': 'joins the results of desired and plan, for telemetry and the main thread',
  'src/health/probe-kinds.ts': 'imports every probe; probe.ts, which they import, would form a cycle',
  'src/health/probe.ts': 'the interface that every probe imports',
  'src/health/stall-proof-deadline.ts': 'a mechanism that is tested without TLS and without a netns',
  'src/kube/abortable.ts': 'waits for watches and for writes, which share no other file',
  'src/kube/access-review.ts': 'one request, for the publisher and the doctor',
  'src/kube/credentials/kubeconfig-error.ts': 'an error that eight files of kube and the doctor share',
  'src/kube/labels/label-syntax.ts': 'shared by selectors, tags and flags',
  'src/kube/labels/node-selector.ts': 'another format than the label selector, with operators of its own',
  'src/kube/object-answer.ts': 'apply may load it, but not the client',
  'src/lifecycle/settings-environment.ts': 'the commands load it without the service',
  'src/lifecycle/start-checks.ts': 'main.ts and the doctor load it without the service',
  'src/lifecycle/trim-startup-heap.ts': 'both threads load it',
  'src/netns/descriptor.ts': 'telemetry may load nothing else of netns',
  'src/netns/netns-ref.ts': 'the only type of netns that routing may import',
  'src/proxy/allowed-sources.ts': 'shared by the policies of names and of ports',
  'src/proxy/engine-limits.ts': 'the fixed limits; engine.ts has the interface of engines',
  'src/proxy/idle-gate.ts': 'shared by both engines',
  'src/proxy/native/outcomes.ts':
    'a table in the order of native/engine/outcome.h, and a page of the reference',
  'src/proxy/reasons.ts': 'a table of names that never change, and a page of the reference',
  'src/proxy/streams/source-queue.ts': 'a data structure with a test of its own',
  'src/routing/addresses.ts': 'shared by proxy and telemetry, which load no code of each other',
  'src/telemetry/admin/ready-page.ts': 'pure, for the admin ports and app.ts',
  'src/telemetry/log/eviction-log.ts': 'one log line with a limit, for both admin ports',
  'src/telemetry/log/journal-lines.ts': 'loaded on demand: pino-pretty has 40 modules',
  'src/telemetry/status/probe-view.ts': 'shared by two views of which one imports the other',
  'src/tls/alert.ts': 'the only bytes that tls/ writes; its other files read',
  'src/tls/foreign-protocol.ts': 'about peers that speak no TLS, which the parser of records does not cover',
  'src/version.ts': 'both threads load it',
};

/** The files over 300 lines besides tests, each with the reason why it is not split. A split or a shorter file loses its row. */
const LONG_FILES: Readonly<Record<string, string>> = {
  'demo/demo-story.ts': 'the chapters of one story, in their order',
  'native/engine/engine.cc': 'the class that the addon calls; it hands all work to the workers',
  'native/engine/worker.cc': 'one epoll loop: its handlers share the state of the loop',
  'scripts/task.mjs': 'the table of all npm scripts',
  'src/app.ts': 'wires the main thread once, and stops it in the reverse order',
  'src/cli/config/flags.ts': 'the table of all flags: a page of the reference',
  'src/control-thread/control-thread.ts':
    'starts and stops every part of the control thread, and answers the main thread',
  'src/control-thread/control-link.ts': 'one end of the thread boundary: each message has its answer here',
  'src/control/desired/name-claims.ts': 'one decision: which object holds a name',
  'src/control/instance/instance-lease.ts': 'one Lease from its start to its deletion, with one state',
  'src/control/sources/file-source.ts': 'one directory: its watch, its scans and its files share one state',
  'src/control/world/listener-world.ts': 'one part of the world: all facts about additional listeners',
  'src/lifecycle/service.ts': 'one process in the eyes of systemd and of its successor, with one state',
  'src/proxy/native/native-engine.ts': 'implements the interface of engines on the addon',
  'src/proxy/streams/connection.ts': 'a connection from accept to its record, with one state',
  'test/conformance/engine-netns.ts': 'one suite that both engines run',
  'test/conformance/engine-prepared.ts': 'one suite that both engines run',
  'test/conformance/engine.ts': 'one suite that both engines run',
  'test/e2e/control-plane.ts': 'the processes of one control plane and their certificates',
  'test/e2e/management-cluster.ts': 'what the scenarios ask of the management cluster',
  'test/fake-kube-api/http/request-handler.ts': 'one request from its path to its answer',
  'test/fake-kube-api/store/object-writes.ts': 'all writes, which share one check of preconditions',
  'test/fake-kube-api/types/built-in-rules.ts': 'a table: the validation of each built-in kind',
};

const isTestFile = (name: string): boolean =>
  /\.(test|conformance|e2e|helm|image|node|systemd)\.ts$/.test(name);

const entriesOf = (place: string) => readdirSync(join(root, place), { withFileTypes: true });
const filesIn = (place: string): string[] =>
  entriesOf(place).flatMap((each) => (each.isFile() && !isTestFile(each.name) ? [each.name] : []));
const foldersBelow = (place: string): string[] =>
  entriesOf(place).flatMap((each) => {
    const path = join(place, each.name);
    return each.isDirectory() ? [path, ...foldersBelow(path)] : [];
  });

const FOLDERS = ['src', 'native', 'demo', 'scripts', 'test', 'bench'];

test.each(FOLDERS)('no folder of %s has more than 25 files besides tests', (place) => {
  const large = [place, ...foldersBelow(place)].filter((each) => filesIn(each).length > MAX_FILES);
  expect(large).toEqual([]);
});

test('src has at most four loose files', () => {
  expect(filesIn('src').length).toBeLessThanOrEqual(MAX_LOOSE_SOURCES);
});

const linesOf = (path: string) => readFileSync(join(root, path), 'utf8').split('\n').length - 1;
const isSource = (path: string): boolean => /\.(ts|mjs|cc|h|py|sh)$/.test(path);

test('no file besides tests has more than 300 lines without a reason', () => {
  const long = FOLDERS.flatMap((place) => [place, ...foldersBelow(place)])
    .flatMap((place) => filesIn(place).map((name) => join(place, name)))
    .filter((path) => isSource(path) && linesOf(path) > MOST_LINES);
  expect(long.sort()).toEqual(Object.keys(LONG_FILES).sort());
});

test('no product file has fewer than 40 lines without a reason', () => {
  const short = ['src', ...foldersBelow('src')]
    .flatMap((place) => filesIn(place).map((name) => join(place, name)))
    .filter((path) => linesOf(path) < LEAST_LINES);
  expect(short.length).toBeGreaterThan(10);
  expect(short.sort()).toEqual(Object.keys(SHORT_FILES).sort());
});

test('test has no loose file', () => {
  expect(entriesOf('test').filter((each) => each.isFile())).toEqual([]);
});

test('scripts has no loose file but the entry of all npm scripts', () => {
  expect(filesIn('scripts')).toEqual(['task.mjs']);
});
