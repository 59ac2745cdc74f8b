// The list of all generated pages of docs/reference.
import { additionalListener } from './additional-listener.ts';
import type { ReferencePage } from './page.ts';
import { rbac } from './rbac.ts';

export function referencePages(): ReferencePage[] {
  return [rbac(), additionalListener()];
}
