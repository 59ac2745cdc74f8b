// The reference of an existing namespace.
import { native } from '../../src/netns/native.ts';
import type { NetnsRef } from '../../src/netns/netns-ref.ts';

export function netnsRefOf(path: string): NetnsRef {
  const netns = native.openNetns(path);
  netns.close();
  return { path, identity: netns.identity };
}
