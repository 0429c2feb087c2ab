export { type ApiAnswer, type ApiRequest, type CallApi, openMcpServer } from './server.ts';
export { readTags } from './tools.ts';
