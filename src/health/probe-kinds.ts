// Selects the probe for a target: the check from `--health`, unless the target names its own. A machine behind a listener always
// gets the TCP check.
import type { NativeAddon } from '../netns/native.ts';
import type { HealthSettings } from './health-settings.ts';
import type { ClosableProbe } from './probe.ts';
import { TcpProbe } from './tcp-probe.ts';
import { TlsProbe } from './tls-probe.ts';

interface ProbeOptions {
  readonly addon: Pick<NativeAddon, 'openNetns' | 'createProber'>;
  readonly settings: Pick<HealthSettings, 'kind' | 'timeoutMs' | 'maxConcurrent'>;
}

export function createProbe({ addon, settings }: ProbeOptions): ClosableProbe {
  switch (settings.kind) {
    case 'tcp':
      return new TcpProbe(addon, settings);
    case 'tls':
      return createTlsProbe({ addon, settings });
  }
}

function createTlsProbe({ addon, settings }: ProbeOptions): ClosableProbe {
  const tls = new TlsProbe(addon, settings.timeoutMs);
  // Created for the first target that needs it, because it owns a thread.
  let tcp: TcpProbe | null = null;
  return {
    start: (target, ended) => {
      if (target.check !== 'tcp') return tls.start(target, ended);
      tcp ??= new TcpProbe(addon, settings);
      return tcp.start(target, ended);
    },
    close: () => {
      tls.close();
      tcp?.close();
    },
  };
}
