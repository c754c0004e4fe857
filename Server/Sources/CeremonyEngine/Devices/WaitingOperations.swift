import Ceremony
import Records
import Sealing
import UAF
import _Primitives

/// The ceremonies that wait for a person's answer on a device, with a token for the device.
struct WaitingOperations: CeremonyPart {
    /// A waiting ceremony, and the token by which one device takes the ceremony up.
    struct Offer: Sendable {
        let ceremony: CeremonyRecord
        let token: String
    }

    let environment: CeremonyEnvironment
    let store: any CeremonyStore

    /// Returns the ceremonies that wait for a device, the newest first, at most `limit`, each with the device's token of
    /// a channel.
    ///
    /// A device has the same token at each reading, and each device has another token. So no device ends the token of
    /// another device, and many readings leave one token. Cost: one query, one query for each ceremony, and one store
    /// step for each token that does not exist yet.
    func offers(to device: AuthenticatedDevice, over channel: DispatchChannel, limit: Int) async throws -> [Offer] {
        let now = self.time.now()
        var offers: [Offer] = []
        for ceremony in try await self.store.waitingOperations(
            accountID: device.accountID, deviceID: device.deviceID, at: now, limit: limit)
        {
            let (token, record) = self.token(of: ceremony, for: device.deviceID, over: channel)
            if try await self.offer(record, of: ceremony) { offers.append(Offer(ceremony: ceremony, token: token)) }
        }
        return offers
    }

    /// Returns the token of a device and its record. The token is a code under a key of the server, which nobody else
    /// can compute.
    func token(
        of ceremony: CeremonyRecord, for device: String, over channel: DispatchChannel
    ) -> (String, DispatchTokenRecord) {
        let token = Base64URL.encode(
            self.sealing.code("\(channel.rawValue) \(device) \(ceremony.id)", purpose: .deviceToken))
        return (
            token,
            DispatchTokenRecord(
                digest: Sealing.digest(ofSecret: token), channel: channel, expiresAt: ceremony.expiresAt)
        )
    }

    /// Keeps a token unless the store has the token. Returns `false` if another phone was faster.
    private func offer(_ token: DispatchTokenRecord, of ceremony: CeremonyRecord) async throws -> Bool {
        if let offered = try await self.store.ceremony(ofToken: token.digest), offered.token == token {
            return offered.ceremony.phase == .created
        }
        let record = try await self.store.change(.id(ceremony.id)) { record in
            var change = CeremonyChange()
            if record.phase == .created { change.addedTokens = [token] }
            return change
        }
        return record?.phase == .created
    }
}
