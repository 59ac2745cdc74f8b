// The commands of an operator beside the service: they find the settings of the service by themselves, and read them as systemd does.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ENVIRONMENT_FILES } from '../environment-files.ts';
import { BootedSite, type Tenant } from './booted-site.ts';

let site: BootedSite & { readonly alpha: Tenant };
beforeAll(async () => {
  site = await BootedSite.serving(['ISTHMUS_ADMIN=127.0.0.1:9599']);
});
afterAll(() => site?.stop());

interface Report {
  readonly code: number;
  readonly checks: Readonly<Record<string, { readonly result: string; readonly found: string }>>;
}

async function doctor(...args: readonly string[]): Promise<Report> {
  const { status, stdout } = await site.machine.run('isthmus', 'doctor', '--json', ...args);
  const { checks } = JSON.parse(stdout) as { checks: { check: string; result: string; found: string }[] };
  return { code: status, checks: Object.fromEntries(checks.map((each) => [each.check, each])) };
}

test('the doctor without an argument uses the settings of the service, and finds no problem beside it', async () => {
  const { code, checks } = await doctor();
  expect(Object.values(checks).filter(({ result }) => result === 'problem' || result === 'skipped')).toEqual(
    [],
  );
  expect(code).toBe(0);
  expect(checks.configuration?.found).toMatch(/also the settings of \/etc\/default\/isthmus \(KUBECONFIG, /);
  expect(checks.credentials?.found).toContain('/etc/isthmus/kubeconfig');
});

test('a flag of the doctor wins over the settings file', async () => {
  const { checks } = await doctor('--kubeconfig', '/etc/hostname');
  expect(checks.credentials?.found).toContain('/etc/hostname');
});

test('one wrong setting is named, and all other checks run', async () => {
  site.set(['ISTHMUS_MAX_CONNECTIONS=many', 'ISTHMUS_LISTNE=1']);
  const { code, checks } = await doctor();
  expect(code).toBe(2);
  expect(checks.configuration).toMatchObject({
    result: 'problem',
    found: expect.stringMatching(
      /ISTHMUS_MAX_CONNECTIONS: "many" is not valid.*ISTHMUS_LISTNE: .*ISTHMUS_LISTEN/,
    ),
  });
  for (const name of ['setns', 'netns', 'credentials', 'api', 'login', 'crd', 'rights'])
    expect(checks[name]?.result, name).toBe('ok');
});

test('status and explain find the admin port of the settings file', async () => {
  site.set(['ISTHMUS_ADMIN=127.0.0.1:9599']);
  expect((await site.machine.run('isthmus', 'status')).status).toBe(0);
  expect((await site.machine.run('isthmus', 'explain', 'alpha')).stdout).toContain('alpha');
});

test.each(ENVIRONMENT_FILES)('systemd reads $title as our parser does', async ({ text, settings }) => {
  site.machine.write('/run/settings', text);
  const program = '/usr/lib/isthmus/bin/node -p JSON.stringify(process.env)';
  const found = JSON.parse(
    await site.machine.sh(
      `systemd-run --quiet --wait --pipe -p EnvironmentFile=/run/settings ${program.replace(/(JSON.*)$/, "'$1'")}`,
    ),
  ) as Record<string, string>;
  const ours = Object.fromEntries(
    Object.entries(found).filter(([name]) => /^(export )?[ABC](-B)?$/.test(name)),
  );
  expect(ours).toEqual(settings);
});
