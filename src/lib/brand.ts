import type { Brand } from "../contract/brand.ts"

export const defaultBrand: Brand = {
  schemaPrefix: "longhaul",
  mcpClientName: "longhaul",
  mcpClientVersion: "0.1.0",
  tempdirPrefix: "longhaul-",
  providerModelPrefix: "",
  doctorCommand: "longhaul doctor",
  serviceName: "longhaul",
  clientInfoName: "longhaul",
  clientInfoTitle: "Longhaul",
}
