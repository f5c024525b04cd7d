import type { BUILTINS } from '../schema/toolEntry.ts';

/** Tools of each built-in set. */
export const BUILTIN_TOOLS: Readonly<Record<(typeof BUILTINS)[number], readonly string[]>> = {
  browser: [
    'browser_navigate',
    'browser_navigate_back',
    'browser_snapshot',
    'browser_click',
    'browser_type',
    'browser_press_key',
    'browser_select_option',
    'browser_hover',
    'browser_file_upload',
    'browser_evaluate',
    'browser_take_screenshot',
    'browser_tabs',
    'browser_wait_for',
  ],
  terminal: ['execute_command'],
  code: ['run_code'],
  spreadsheet: ['extract_excel_content', 'read_data_from_excel', 'write_data_to_excel', 'apply_formula'],
  documents: ['extract_document_content'],
  calculator: ['calculate'],
  files: ['read_file', 'write_file', 'edit_file', 'list_files', 'delete_file'],
  search: ['search', 'read_webpage', 'download_file'],
  vision: ['image_recognition'],
  audio: ['transcribe_audio'],
};
