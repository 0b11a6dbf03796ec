import JSZip from "jszip"
import { describe, expect, test, vi } from "vitest"
import { addDocuments } from "../../../../test/knowledge/place.ts"
import { drawn, pdfWithPages } from "../../../../test/support/pdf-files.ts"
