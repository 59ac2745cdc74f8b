// Tells the supervisor (systemd) about us, as sd_notify(3) does: whether we serve, that we live, what a person should read. What
// cannot be told is logged once, and never stops us. Without NOTIFY_SOCKET nothing is told.
import type { NativeAddon } from '../netns/native.ts';

export interface NotifySocketDeps {
  /** NOTIFY_SOCKET; undefined: nobody wants to know. */
  readonly address: string | undefined;
  readonly addon: Pick<NativeAddon, 'notify'>;
  readonly onProblem: (error: Error) => void;
}

type Fields = Readonly<Record<string, string | number>>;

export class NotifySocket {
  readonly #deps: NotifySocketDeps;
  #failed = false;

  constructor(deps: NotifySocketDeps) {
    this.#deps = deps;
  }

  send(fields: Fields): void {
    const { address, addon, onProblem } = this.#deps;
    if (address === undefined || address === '') return;
    const lines = Object.entries(fields).map(
      ([key, value]) => `${key}=${String(value).replaceAll('\n', ' ')}`,
    );
    try {
      addon.notify(address, lines.join('\n'));
      this.#failed = false;
    } catch (error) {
      if (!this.#failed) onProblem(error as Error);
      this.#failed = true;
    }
  }
}
