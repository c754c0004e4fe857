import JOSE
import UAFClient
import _Primitives

/// The stored data of a sign-in on the device, each value under its name.
struct SignInStore: Sendable {
    /// The lock for a renewal, which two processes must not do at once.
    static let renewalLock = "sign-in-renewal"
    /// The lock for reading and then writing the kept session. The lock is never held while waiting for the network.
    private static let recordLock = "sign-in-record"
    /// The maximum number of revocation orders that wait for the network. Beyond the maximum, the oldest order is
    /// removed first.
    private static let maximumOrders = 8

    private enum Name {
        static let session = "sign-in-session"
        static let deviceSecret = "sign-in-device-secret"
        static let choice = "sign-in-choice"
        static let orders = "sign-in-orders"
        static let credentials = "sign-in-credentials"
        /// The value in the storage that apps share.
        static let group = "sign-in-group"
        /// The note that a browser is open.
        static let browser = "sign-in-browser"
        static let all = [session, deviceSecret, choice, orders, credentials, browser]
        /// The names of secrets behind a finger or a face.
        static let guardedSession = "sign-in-session"
        static let guardedCredentials = "sign-in-credentials"
    }

    let storage: any SignInStorage
    /// The storage that the apps of one maker share; `nil` for a single app.
    let sharedStorage: (any SignInStorage)?
    let biometricKeys: (any BiometricKeys)?
    let random: RandomSource
    /// The app and its server. Stored data of another registration is ignored.
    let registration: String
    /// The server's issuer name, for data that apps share.
    let issuer: String?

    /// Deletes everything of this app: data that a removed app has left behind belongs to nobody. The data that apps
    /// share stays.
    func wipe() throws {
        for name in Name.all { try self.storage.remove(name) }
        try self.biometricKeys?.remove(Name.guardedSession)
        try self.biometricKeys?.remove(Name.guardedCredentials)
    }

    /// Runs a body that stores or deletes, alone in all processes. The body runs to its end even if the caller's task
    /// is cancelled.
    func alone<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await Task { try await self.storage.withLock(Self.recordLock, body) }.value
    }

    /// Reads a value. Returns `nil` for an unreadable value, which the next write replaces.
    private func value(_ name: String) throws -> [UInt8]? {
        do {
            return try self.storage.read(name)
        } catch let error as StorageError where error.code == .corrupt {
            return nil
        }
    }

    /// Reads a value as an object of this registration.
    private func ownObject(_ name: String) throws -> JSONObject? {
        guard case .object(let object)? = try self.value(name).flatMap({ try? JSON(parsing: $0) }),
            case .string(let registration)? = object["for"], registration.hasSameBytes(as: self.registration)
        else { return nil }
        return object
    }

    // MARK: The session

    /// The box that guards a session, if the device has sensors.
    var sessionBox: GuardedBox? {
        self.biometricKeys.map { GuardedBox(keys: $0, name: Name.guardedSession, random: self.random) }
    }

    /// Returns the kept session without asking the person. Returns `nil` for an unreadable session. A session that a
    /// later version of the app has written stays: the function then throws `StorageError` `newer`.
    func session() throws -> KeptSession? {
        guard let bytes = try self.value(Name.session) else { return nil }
        do {
            let kept = try KeptSession(parsing: bytes)
            return kept.registration.hasSameBytes(as: self.registration) ? kept : nil
        } catch let error as StorageError where error.code == .corrupt {
            return nil
        }
    }

    /// Returns the kept session for a person who wants to end or replace it. A session that a later version of the app
    /// has written must not prevent the person from signing in or out. The function returns no session then, and
    /// `isReadable` is `false`, because the session cannot be named to the server.
    func sessionToEnd() throws -> (session: KeptSession?, isReadable: Bool) {
        do {
            return (try self.session(), true)
        } catch let error as StorageError where error.code == .newer {
            return (nil, false)
        }
    }

    /// Replaces the kept session; `nil` removes the kept session. The key behind the finger or face is removed unless
    /// the new session uses it. Call this function only within ``alone(_:)``.
    func setSession(_ session: KeptSession?) throws {
        if let session {
            try self.storage.write(session.serialized, to: Name.session)
        } else {
            try self.storage.remove(Name.session)
        }
        if session?.key == nil { try self.biometricKeys?.remove(Name.guardedSession) }
    }

    /// Returns the device secret, with which web views are signed in. The secret is a separate item, and reading it
    /// asks the person nothing.
    func deviceSecret() throws -> String? {
        guard case .string(let secret)? = try self.ownObject(Name.deviceSecret)?["secret"] else { return nil }
        return secret
    }

    /// Replaces the device secret; `nil` removes the secret.
    func setDeviceSecret(_ secret: String?) throws {
        guard let secret else { return try self.storage.remove(Name.deviceSecret) }
        let object: JSONObject = ["for": .string(self.registration), "secret": .string(secret)]
        try self.storage.write(JSON.object(object).serialized, to: Name.deviceSecret)
    }

    /// Deletes the data that a sign-out ends: the session with the key of its tokens, the device secret, and the saved
    /// name and password.
    ///
    /// If a value cannot be deleted, the function still deletes the others, and throws the first failure. Call this
    /// function only within ``alone(_:)``.
    func removeSession() throws {
        let results: [Result<Void, any Error>] = [
            Result { try self.storage.remove(Name.session) },
            Result { try self.biometricKeys?.remove(Name.guardedSession) },
            Result { try self.setDeviceSecret(nil) }, Result { try self.removeCredentials() },
        ]
        for result in results { try result.get() }
    }

    // MARK: The browser

    /// Returns the time at which the browser was opened, if the browser has not returned.
    func browserOpened() throws -> Timestamp? {
        guard case .integer(let moment)? = try self.ownObject(Name.browser)?["at"] else { return nil }
        return Timestamp(milliseconds: moment)
    }

    /// Notes that the browser was opened; `nil` notes that the browser's sign-in has ended.
    func setBrowserOpened(_ moment: Timestamp?) throws {
        guard let moment else { return try self.storage.remove(Name.browser) }
        let object: JSONObject = ["for": .string(self.registration), "at": .integer(moment.milliseconds)]
        try self.storage.write(JSON.object(object).serialized, to: Name.browser)
    }

    // MARK: The apps of one maker

    /// Returns the credentials that another app of the device has left for a sign-in.
    func group() throws -> (idToken: String, deviceSecret: String)? {
        let bytes: [UInt8]?
        do {
            bytes = try self.sharedStorage?.read(Name.group)
        } catch let error as StorageError where error.code == .corrupt {
            bytes = nil
        }
        guard let bytes, let issuer, case .object(let object)? = try? JSON(parsing: bytes),
            case .string(let named)? = object["issuer"], named.hasSameBytes(as: issuer),
            case .string(let idToken)? = object["id_token"], case .string(let secret)? = object["device_secret"]
        else { return nil }
        return (idToken, secret)
    }

    /// Leaves credentials for the other apps: an ID token and the secret that the token names. Both are written
    /// together or not at all.
    func setGroup(idToken: String, deviceSecret: String) throws {
        guard let issuer else { return }
        let object: JSONObject = [
            "issuer": .string(issuer), "id_token": .string(idToken), "device_secret": .string(deviceSecret),
        ]
        try self.sharedStorage?.write(JSON.object(object).serialized, to: Name.group)
    }

    /// Removes the credentials with the secret.
    func removeGroup(by secret: String) throws {
        guard let group = try self.group(), constantTimeEqual(Array(group.deviceSecret.utf8), Array(secret.utf8)) else {
            return
        }
        try self.sharedStorage?.remove(Name.group)
    }

    // MARK: The person's choice

    /// Returns `true` if the person wants to use finger or face next time; `nil` if the person has not been asked.
    func choice() throws -> Bool? {
        switch try self.value(Name.choice) {
        case Array("biometrics".utf8): true
        case Array("none".utf8): false
        default: nil
        }
    }

    func setChoice(_ isWanted: Bool) throws {
        try self.storage.write(Array((isWanted ? "biometrics" : "none").utf8), to: Name.choice)
    }

    // MARK: Name and password

    /// The box that guards a name and a password, if the device has sensors.
    var credentialsBox: GuardedBox? {
        self.biometricKeys.map { GuardedBox(keys: $0, name: Name.guardedCredentials, random: self.random) }
    }

    /// A saved name and password.
    struct SavedCredentials: Sendable {
        /// The name and the password, encrypted.
        var sealed: String
        /// `true` if the server has accepted the name and password.
        var isGood: Bool
        /// The last session that began with the name and password, encrypted to the same key (``FormerSession``). The
        /// following sign-in ends this session. `nil` if no such session exists, or if the session is kept by itself.
        var formerSession: String?
    }

    /// Returns the saved name and password without asking the person.
    func credentials() throws -> SavedCredentials? {
        guard let object = try self.ownObject(Name.credentials), case .string(let sealed)? = object["sealed"] else {
            return nil
        }
        return SavedCredentials(
            sealed: sealed, isGood: object["good"] == .bool(true), formerSession: try? object.string("former"))
    }

    func setCredentials(_ credentials: SavedCredentials) throws {
        var object: JSONObject = [
            "for": .string(self.registration), "sealed": .string(credentials.sealed),
            "good": .bool(credentials.isGood),
        ]
        object["former"] = credentials.formerSession.map(JSON.string)
        try self.storage.write(JSON.object(object).serialized, to: Name.credentials)
    }

    func removeCredentials() throws {
        try self.storage.remove(Name.credentials)
        try self.biometricKeys?.remove(Name.guardedCredentials)
    }

    // MARK: Orders to revoke

    /// Returns the orders that servers have not received yet, oldest first. Orders of another registration must not be
    /// sent with this registration.
    func orders() throws -> [RevocationOrder] {
        guard let bytes = try self.value(Name.orders),
            case .object(let object)? = try? JSON(parsing: bytes, limits: JSONLimits(bytes: 65_536)),
            let orders = try? object.array("orders")
        else { return [] }
        return orders.compactMap { order in
            guard case .object(let members) = order, let id = try? members.string("id"),
                let registration = try? members.string("for")
            else { return nil }
            return RevocationOrder(
                id: id, registration: registration, refreshToken: try? members.string("refresh_token"),
                deviceSecret: try? members.string("device_secret"),
                unheardCount: (try? members.integer("unheard", as: Int64.self)) ?? 0)
        }
    }

    /// Replaces the stored orders; beyond the maximum, only the newest orders are kept. Call this function only within
    /// ``alone(_:)``.
    func setOrders(_ orders: [RevocationOrder]) throws {
        guard !orders.isEmpty else { return try self.storage.remove(Name.orders) }
        let objects = orders.suffix(Self.maximumOrders).map { order in
            var members: JSONObject = [
                "id": .string(order.id), "for": .string(order.registration), "unheard": .integer(order.unheardCount),
            ]
            members["refresh_token"] = order.refreshToken.map(JSON.string)
            members["device_secret"] = order.deviceSecret.map(JSON.string)
            return JSON.object(members)
        }
        let object: JSONObject = ["orders": .array(objects)]
        try self.storage.write(JSON.object(object).serialized, to: Name.orders)
    }
}
