/** Selects the documents that the language server handles. */
import type * as vscode from 'vscode';

/** Agent, world, and batch files. */
const STUDIO_FILES = '**/*.{agent,world,batch}.{yaml,yml,json}';
/** Possible prompt files. The server knows which of them agents reference. */
const PROMPTS = '**/*.{md,txt}';
/** Possible datasets. The server knows which of them batches reference. */
const DATASETS = '**/*.{jsonl,csv,json}';
/** Code that can define tools. */
const CODE = '**/*.{ts,mts,cts,tsx,js,mjs,cjs,jsx}';

/** Only files on disk, because the server reads referenced files itself. */
const onDisk = (pattern: string): { scheme: string; pattern: string } => ({ scheme: 'file', pattern });

export const STUDIO_SELECTOR = onDisk(STUDIO_FILES);
export const DOCUMENT_SELECTOR = [STUDIO_SELECTOR, onDisk(PROMPTS), onDisk(DATASETS), onDisk(CODE)];

/** Code and data files, where the server provides only references and renames. */
export function isForNamesOnly({
  languageId,
  fileName,
}: Pick<vscode.TextDocument, 'languageId' | 'fileName'>): boolean {
  return /^(type|java)script(react)?$/.test(languageId) || isDataset({ fileName });
}

/** Whether a document may be a dataset. */
export function isDataset({ fileName }: Pick<vscode.TextDocument, 'fileName'>): boolean {
  return /\.(jsonl|csv|json)$/i.test(fileName) && !/\.(agent|world|batch)\.json$/i.test(fileName);
}
