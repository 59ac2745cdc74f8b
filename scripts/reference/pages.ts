// The list of all generated pages of docs/reference.
import { additionalListener } from './additional-listener.ts';
import { connectionOutcomes } from './connection-outcomes.ts';
import { exitCodes } from './exit-codes.ts';
import { flags } from './flags.ts';
import { logs } from './logs.ts';
import { metrics } from './metrics.ts';
import type { ReferencePage } from './page.ts';
import { rbac } from './rbac.ts';
import { status } from './status.ts';

export function referencePages(): ReferencePage[] {
  return [
    flags(),
    metrics(),
    connectionOutcomes(),
    logs(),
    exitCodes(),
    status(),
    rbac(),
    additionalListener(),
  ];
}
