/** Links lead to pages for people, not to the API. */

export function linkToCheck(publicUrl: string, checkId: string): string {
  return `${publicUrl}/console/#/checks/${checkId}`;
}

export function linkToAgents(publicUrl: string): string {
  return `${publicUrl}/console/#/agents`;
}

export function linkToResult(publicUrl: string, checkId: string, resultId: string): string {
  return `${linkToCheck(publicUrl, checkId)}/results/${resultId}`;
}

export function linkToGroup(publicUrl: string, groupId: string): string {
  return `${publicUrl}/console/#/alerts?group=${groupId}`;
}

export function linkToTestSession(publicUrl: string, sessionId: string): string {
  return `${publicUrl}/console/#/test-sessions/${sessionId}`;
}

export function linkToMaintenance(publicUrl: string): string {
  return `${publicUrl}/console/#/maintenance`;
}
