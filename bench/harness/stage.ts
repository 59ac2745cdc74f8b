// A site with its running peers, shared by all scenarios that need this site.
import { PeerError, type PeerProgram, type RunningPeer } from '../peers/peer.ts';
import type { Participant, Scenario } from '../scenarios/scenario.ts';
import type { Progress } from './progress.ts';
import { openSite, type Site, type SiteNeeds } from './site.ts';

export interface Stage {
  readonly site: Site;
  readonly running: ReadonlyMap<string, RunningPeer>;
  /** The peers that did not start, with the reasons. */
  readonly problems: ReadonlyMap<string, string>;
  close(): Promise<void>;
}

export async function openStage(
  needs: SiteNeeds,
  peers: readonly PeerProgram[],
  load: string,
  progress: Progress,
): Promise<Stage> {
  progress.at(`preparing ${needs.netns} netns, ${needs.clusters} routes`);
  const site = await openSite(needs, load);
  const running = new Map<string, RunningPeer>();
  const problems = new Map<string, string>();
  for (const peer of peers) {
    progress.at(`starting ${peer.name}`);
    try {
      running.set(peer.name, await peer.start(site));
    } catch (error) {
      if (!(error instanceof PeerError)) throw error;
      problems.set(peer.name, error.message);
      progress.say(`✗ ${peer.name} did not start: ${error.message}`);
    }
  }
  return {
    site,
    running,
    problems,
    close: async () => {
      for (const peer of running.values()) await peer.stop();
      await site.close();
    },
  };
}

export function participantsOf(
  scenario: Scenario,
  peers: readonly PeerProgram[],
  site: Site,
): readonly Participant[] {
  return scenario.participants?.(peers, site) ?? peers.map((peer) => ({ name: peer.name, peer, site }));
}

/** Groups scenarios that need the same site and keeps their order within a group. */
export function grouped(scenarios: readonly Scenario[]): [SiteNeeds, Scenario[]][] {
  const groups = new Map<string, [SiteNeeds, Scenario[]]>();
  for (const scenario of scenarios) {
    const key = JSON.stringify(scenario.needs);
    const group = groups.get(key) ?? [scenario.needs, []];
    group[1].push(scenario);
    groups.set(key, group);
  }
  return [...groups.values()];
}
