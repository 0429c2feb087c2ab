/** The graph of what stands directly below a folder: its folders, and its files one by one. */

export interface Import {
  readonly from: string;
  readonly to: string;
}

/** For each folder or file below the root, what it imports there, with one import as an example. */
export type FolderGraph = ReadonlyMap<string, ReadonlyMap<string, Import>>;

/** `agent/net` for `agent/net/dns/udp.ts` below `agent`; null for what is not below it. */
function childOf(root: string, path: string): string | null {
  if (!path.startsWith(`${root}/`)) return null;
  const [name = ''] = path.slice(root.length + 1).split('/');
  return `${root}/${name}`;
}

export function folderGraph(root: string, imports: Iterable<Import>): FolderGraph {
  const graph = new Map<string, Map<string, Import>>();
  for (const each of imports) {
    const [from, to] = [childOf(root, each.from), childOf(root, each.to)];
    if (from === null || to === null || from === to) continue;
    const targets = graph.get(from) ?? new Map<string, Import>();
    graph.set(from, targets);
    if (!targets.has(to)) targets.set(to, each);
  }
  return graph;
}

/**
 * One cycle as the imports that make it up, the shortest through its first folder; null where there is
 * none. Mend it and ask again.
 */
export function cycleIn(graph: FolderGraph): Import[] | null {
  for (const start of [...graph.keys()].sort()) {
    const cameBy = new Map<string, Import[]>([[start, []]]);
    for (const [folder, way] of cameBy) {
      for (const [next, example] of graph.get(folder) ?? []) {
        if (next === start) return [...way, example];
        // A map is walked in the order of insertion, those that are added meanwhile included.
        if (!cameBy.has(next)) cameBy.set(next, [...way, example]);
      }
    }
  }
  return null;
}
