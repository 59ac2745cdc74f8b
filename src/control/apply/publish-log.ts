// Logs each published, withdrawn or failed object with its cluster. A repeated failure is logged once.
import type { Log, LogLevel } from '../../telemetry/log/log-fields.ts';
import { type Action, actionKey } from '../plan/plan.ts';
import type { WriteOutcome } from './apply.ts';

const MAX_REMEMBERED = 10_000;

export class PublishLog {
  readonly #log: Log;
  readonly #failing = new Map<string, string>();

  constructor(log: Log) {
    this.#log = log;
  }

  write(outcome: WriteOutcome): void {
    const { action } = outcome;
    const { cluster, namespace, name, why } = action;
    const key = actionKey(action);
    const facts = { cluster, object: `${KINDS[action.resource]} ${namespace}/${name}`, why };
    switch (outcome.kind) {
      case 'done':
        if (this.#failing.delete(key)) this.#log('info', facts, 'write succeeded after a failure');
        else this.#log(outcome.changed ? levelOf(action) : 'debug', facts, MESSAGES[action.kind]);
        return;
      case 'overtaken':
        this.#log('debug', facts, 'write rejected: another writer changed the object first; planning again');
        return;
      case 'failed': {
        const { message, code } = outcome.error;
        if (this.#failing.get(key) === code) return;
        if (this.#failing.size < MAX_REMEMBERED) this.#failing.set(key, code);
        this.#log(
          'warn',
          { ...facts, error: message, retryInMs: Math.round(outcome.retryInMs) },
          'write to the Kubernetes API failed: retrying',
        );
      }
    }
  }
}

const KINDS = {
  services: 'Service',
  endpointslices: 'EndpointSlice',
  secrets: 'Secret',
  leases: 'Lease',
  additionallisteners: 'AdditionalListener',
} as const;

const MESSAGES: Readonly<Record<Action['kind'], string>> = {
  create: 'published',
  patch: 'changed',
  delete: 'withdrawn',
  kubeconfig: 'kubeconfig rewritten',
  status: 'status written',
};

/** Patches are logged at level debug: while magnum-cluster-api-proxy runs too, each slice gets a new timestamp every ten seconds. */
const levelOf = ({ kind }: Action): LogLevel => (kind === 'patch' || kind === 'status' ? 'debug' : 'info');
