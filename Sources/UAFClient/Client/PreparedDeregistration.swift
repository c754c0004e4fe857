public import UAF

/// A deregistration request that can be carried out (§9.4). The server gets no answer.
public struct PreparedDeregistration: Sendable {
    let module: AuthenticatorModule
    /// The server's message.
    public let request: DeregistrationRequest
    /// The AppID of the keys to delete.
    public let appID: String

    /// The keys of this device that the message names, for the app's own lists. The app must not tell others about the
    /// keys.
    public var keys: [KeyName] {
        get async {
            await self.module.registrations(appID: self.appID).map(\.name).filter(self.isAbout)
        }
    }

    /// Returns `true` if the message names a key, for a key of the message's AppID.
    package func isAbout(_ key: KeyName) -> Bool {
        self.request.authenticators.contains { entry in
            entry.aaid.map { $0 == key.aaid } ?? true && entry.keyID.map { $0 == key.keyID } ?? true
        }
    }

    /// Deletes the keys. If the device has no such key, or only keys of other apps, nothing happens and nobody is told.
    ///
    /// Throws ``StorageError``. The message can then be carried out again.
    public func execute() async throws {
        for entry in self.request.authenticators {
            try await self.module.deregister(appID: self.appID, aaid: entry.aaid, keyID: entry.keyID)
        }
    }
}
