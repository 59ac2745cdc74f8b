// The machines of each cluster, found without looking at all others: a site has thousands. Pure; one index per list of machines.

import { byText } from '../objects/text-order.ts';
import type { MachineFacts } from '../sources/machine.ts';

export interface MachineIndex {
  /** Sorted by name. */
  of(namespace: string, cluster: string): readonly MachineFacts[];
}

/** The same list is the same machines: they are sorted once for all turns in which none changed. */
const indexes = new WeakMap<readonly MachineFacts[], MachineIndex>();

/** Whoever hands a list in changes it no more. */
export function machineIndex(machines: readonly MachineFacts[]): MachineIndex {
  let index = indexes.get(machines);
  if (index === undefined) {
    index = newIndex(machines);
    indexes.set(machines, index);
  }
  return index;
}

function newIndex(machines: readonly MachineFacts[]): MachineIndex {
  const byCluster = new Map<string, MachineFacts[]>();
  for (const machine of machines) {
    if (machine.cluster === '') continue;
    const key = `${machine.namespace}/${machine.cluster}`;
    const list = byCluster.get(key);
    if (list === undefined) byCluster.set(key, [machine]);
    else list.push(machine);
  }
  for (const list of byCluster.values()) list.sort((a, b) => byText(a.name, b.name));
  return { of: (namespace, cluster) => byCluster.get(`${namespace}/${cluster}`) ?? [] };
}
