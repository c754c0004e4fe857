public import Records
import Sealing
import _Primitives

extension SQLStore: AttestedAppStore {
    public func appKeys(ofDevice id: String) async throws -> DeviceAppKeys {
        try await self.read { [sealing] db in
            DeviceAppKeys(
                signingKey: try DeviceIdentityRows(db).signingKey(ofDevice: id, sealing),
                app: try AttestedAppRows(db).record(ofDevice: id, sealing))
        }
    }
}
