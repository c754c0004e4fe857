public import UAF

/// A deregistration request that can be carried out (§9.4). The server gets no answer to it.
public struct PreparedDeregistration: Sendable {
    let module: AuthenticatorModule
    /// The server's message.
    public let request: DeregistrationRequest
    /// The AppID whose keys it is about.
    public let appID: String

    /// The keys of this device that the message names, for the app's own lists. Nobody else is to hear of them.
    public var keys: [KeyName] {
        get async {
            await self.module.registrations(appID: self.appID).map(\.name).filter(self.isAbout)
        }
    }

    /// Whether the message is about a key, if that is one of its AppID.
    package func isAbout(_ key: KeyName) -> Bool {
        self.request.authenticators.contains { entry in
            entry.aaid.map { $0 == key.aaid } ?? true && entry.keyID.map { $0 == key.keyID } ?? true
        }
    }

    /// Deletes the keys. Where there are none, or of other apps, nothing happens and nothing is told.
    ///
    /// Throws ``StorageError``: the message can then be carried out again.
    public func execute() async throws {
        for entry in self.request.authenticators {
            try await self.module.deregister(appID: self.appID, aaid: entry.aaid, keyID: entry.keyID)
        }
    }
}
