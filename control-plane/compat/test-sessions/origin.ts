import type { NewTestSession } from '../../sessions/index.ts';

/** Where the tested code comes from, as clients say it. */
export interface Origin {
  repoInfo: Record<
    'repoUrl' | 'commitId' | 'commitOwner' | 'commitMessage' | 'branchName',
    string | null
  > | null;
  environment: string | null;
}

type Columns =
  'repo_url' | 'commit_id' | 'commit_owner' | 'commit_message' | 'branch_name' | 'environment';

export function originOf({ repoInfo, environment }: Origin): Pick<NewTestSession, Columns> {
  return {
    repo_url: repoInfo?.repoUrl ?? null,
    commit_id: repoInfo?.commitId ?? null,
    commit_owner: repoInfo?.commitOwner ?? null,
    commit_message: repoInfo?.commitMessage ?? null,
    branch_name: repoInfo?.branchName ?? null,
    environment,
  };
}
