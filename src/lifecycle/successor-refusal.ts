// Why a process that asks for the listening sockets must not get them, although its user may. Pure.

/** What a process that asks for the sockets is. */
export interface SuccessorClaim {
  /** By the kernel, as this process sees it; 0: a process of another PID namespace, which is another container. */
  readonly pid: number;
  /** `<namespace>/<name>:<generation>` of its Pod; null: it has none, or its release does not tell it. */
  readonly daemonSet: string | null;
  /** Its operator started it with `--take-over`. */
  readonly takeOver: boolean;
}

export interface SocketOwner {
  readonly pid: number;
  /** As in `SuccessorClaim`. */
  readonly daemonSet: string | null;
}

/** A reason that continues "the process that serves here: "; null: the process may have the sockets. */
export function successorRefusal(owner: SocketOwner, claim: SuccessorClaim): string | null {
  // A container ends with its first process, and kills every other process in it.
  if (owner.pid === 1 && claim.pid !== 0)
    return (
      'it is the first process of its container, and a successor in the same container would end with it: ' +
      'start the successor in a new Pod or container (kubectl rollout restart)'
    );
  if (claim.takeOver || owner.daemonSet === null || claim.daemonSet === null) return null;
  const [ours, theirs] = [podVersion(owner.daemonSet), podVersion(claim.daemonSet)];
  if (theirs.name !== ours.name)
    return (
      `it is a Pod of DaemonSet ${ours.name}, and the successor is one of ${theirs.name}: ` +
      'keep one of the two DaemonSets on this node, or start the successor with --take-over'
    );
  if (theirs.generation < ours.generation)
    return (
      `it is a newer Pod of DaemonSet ${ours.name} (generation ${ours.generation}, the successor has ` +
      `${theirs.generation}): delete one of the two Pods, or start the successor with --take-over`
    );
  return null;
}

/** A generation that is not a number is NaN, and no comparison with it refuses a successor. */
function podVersion(text: string): { readonly name: string; readonly generation: number } {
  const at = text.lastIndexOf(':');
  return { name: text.slice(0, at), generation: Number(text.slice(at + 1)) };
}
