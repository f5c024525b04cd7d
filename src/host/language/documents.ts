/** Which documents the language server is told of, and which of them it is asked about. */
import type * as vscode from 'vscode';

/** Agents, worlds and batches. */
const STUDIO_FILES = '**/*.{agent,world,batch}.{yaml,yml,json}';
/** Texts that may be prompts: the server knows which of them an agent names. */
const PROMPTS = '**/*.{md,txt}';
/** Code that may hold tools: references and names lead there. */
const CODE = '**/*.{ts,mts,cts,tsx,js,mjs,cjs,jsx}';

/** Only what is on a disk: the server reads what files name by itself. */
const onDisk = (pattern: string): { scheme: string; pattern: string } => ({ scheme: 'file', pattern });

export const STUDIO_SELECTOR = onDisk(STUDIO_FILES);
export const DOCUMENT_SELECTOR = [STUDIO_SELECTOR, onDisk(PROMPTS), onDisk(CODE)];

/** Whether TypeScript's own server answers for a document: of ours it is only asked where a name leads. */
export function isCode(document: Pick<vscode.TextDocument, 'languageId'>): boolean {
  return /^(type|java)script(react)?$/.test(document.languageId);
}
