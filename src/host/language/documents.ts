/** Which documents the language server is told of, and which of them it is asked about. */
import type * as vscode from 'vscode';

/** Agents, worlds and batches. */
const STUDIO_FILES = '**/*.{agent,world,batch}.{yaml,yml,json}';
/** Texts that may be prompts: the server knows which of them an agent names. */
const PROMPTS = '**/*.{md,txt}';
/** Texts that may be datasets: the server knows which of them a batch names. */
const DATASETS = '**/*.{jsonl,csv,json}';
/** Code that may hold tools: references and names lead there. */
const CODE = '**/*.{ts,mts,cts,tsx,js,mjs,cjs,jsx}';

/** Only what is on a disk: the server reads what files name by itself. */
const onDisk = (pattern: string): { scheme: string; pattern: string } => ({ scheme: 'file', pattern });

export const STUDIO_SELECTOR = onDisk(STUDIO_FILES);
export const DOCUMENT_SELECTOR = [STUDIO_SELECTOR, onDisk(PROMPTS), onDisk(DATASETS), onDisk(CODE)];

/** Code and data: others answer for such a document, ours is only asked where a name is used, and to rename it. */
export function isForNamesOnly({
  languageId,
  fileName,
}: Pick<vscode.TextDocument, 'languageId' | 'fileName'>): boolean {
  return (
    /^(type|java)script(react)?$/.test(languageId) ||
    (/\.(jsonl|csv|json)$/i.test(fileName) && !/\.(agent|world|batch)\.json$/i.test(fileName))
  );
}
