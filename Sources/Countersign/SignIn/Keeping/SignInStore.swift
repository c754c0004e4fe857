import JOSE
import UAFClient
import _Primitives

/// Everything that a sign-in keeps on the device, each under its name.
struct SignInStore: Sendable {
    /// Taken around a renewal, which two processes must not do at once.
    static let renewalLock = "sign-in-renewal"
    /// Taken around what reads and then writes the kept session, and never while the network is waited for.
    private static let recordLock = "sign-in-record"
    /// The most orders to revoke that wait for the network; the oldest goes first.
    private static let maximumOrders = 8

    private enum Name {
        static let session = "sign-in-session"
        static let deviceSecret = "sign-in-device-secret"
        static let choice = "sign-in-choice"
        static let orders = "sign-in-orders"
        static let credentials = "sign-in-credentials"
        /// In the storage that apps share.
        static let group = "sign-in-group"
        /// That a browser is open.
        static let browser = "sign-in-browser"
        static let all = [session, deviceSecret, choice, orders, credentials, browser]
        /// Of secrets behind a finger or a face.
        static let guardedSession = "sign-in-session"
        static let guardedCredentials = "sign-in-credentials"
    }

    let storage: any SignInStorage
    /// What the apps of one maker share; `nil` for an app alone.
    let sharedStorage: (any SignInStorage)?
    let biometricKeys: (any BiometricKeys)?
    let random: RandomSource
    /// Who the app is, at which server: what is here of another one is none.
    let registration: String
    /// The server's name, for what apps share.
    let issuer: String?

    /// Deletes everything: what an app that was removed has left behind is nobody's any more.
    func wipe() throws {
        for name in Name.all { try self.storage.remove(name) }
        try self.biometricKeys?.remove(Name.guardedSession)
        try self.biometricKeys?.remove(Name.guardedCredentials)
    }

    /// Runs what stores or deletes: nobody else does so meanwhile, in no process, and it is done to its end though the task of
    /// who wanted it is cancelled.
    func alone<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await Task { try await self.storage.withLock(Self.recordLock, body) }.value
    }

    /// A value. One that cannot be read any more is none: what is written next takes its place.
    private func value(_ name: String) throws -> [UInt8]? {
        do {
            return try self.storage.read(name)
        } catch let error as StorageError where error.code == .corrupt {
            return nil
        }
    }

    /// The value as an object of this registration.
    private func ownObject(_ name: String) throws -> JSONObject? {
        guard case .object(let object)? = try self.value(name).flatMap({ try? JSON(parsing: $0) }),
            case .string(let registration)? = object["for"], registration.hasSameBytes(as: self.registration)
        else { return nil }
        return object
    }

    // MARK: The session

    /// What a session is put behind, where the device has sensors.
    var sessionBox: GuardedBox? {
        self.biometricKeys.map { GuardedBox(keys: $0, name: Name.guardedSession, random: self.random) }
    }

    /// What is kept, without a question. What cannot be read is none, but for what a later version of the app has written:
    /// throws `StorageError` `newer`, and it stays.
    func session() throws -> KeptSession? {
        guard let bytes = try self.value(Name.session) else { return nil }
        do {
            let kept = try KeptSession(parsing: bytes)
            return kept.registration.hasSameBytes(as: self.registration) ? kept : nil
        } catch let error as StorageError where error.code == .corrupt {
            return nil
        }
    }

    /// What is kept, for what ends it or takes its place by the person's own will: nobody is kept from signing in or out by
    /// what a later version of the app has written. That one cannot be named to the server (`isReadable`).
    func sessionToEnd() throws -> (session: KeptSession?, isReadable: Bool) {
        do {
            return (try self.session(), true)
        } catch let error as StorageError where error.code == .newer {
            return (nil, false)
        }
    }

    /// Puts a session in the place of what is kept; `nil` removes it. To be done ``alone(_:)``.
    func setSession(_ session: KeptSession?) throws {
        if let session {
            try self.storage.write(session.serialized, to: Name.session)
        } else {
            try self.storage.remove(Name.session)
        }
        if session?.key == nil { try self.biometricKeys?.remove(Name.guardedSession) }
    }

    /// By this web views are signed in; an item of its own, with no question before it.
    func deviceSecret() throws -> String? {
        guard case .string(let secret)? = try self.ownObject(Name.deviceSecret)?["secret"] else { return nil }
        return secret
    }

    /// Puts another in its place, or none.
    func setDeviceSecret(_ secret: String?) throws {
        guard let secret else { return try self.storage.remove(Name.deviceSecret) }
        let object: JSONObject = ["for": .string(self.registration), "secret": .string(secret)]
        try self.storage.write(JSON.object(object).serialized, to: Name.deviceSecret)
    }

    /// Deletes what a sign-out ends: session, with the key that its tokens are bound to, secret, saved name and password. What
    /// cannot be deleted keeps nothing else here; the first failure is thrown. To be done ``alone(_:)``.
    func removeSession() throws {
        let results: [Result<Void, any Error>] = [
            Result { try self.storage.remove(Name.session) },
            Result { try self.biometricKeys?.remove(Name.guardedSession) },
            Result { try self.setDeviceSecret(nil) }, Result { try self.removeCredentials() },
        ]
        for result in results { try result.get() }
    }

    // MARK: The browser

    /// When the browser was opened that nobody has come back from.
    func browserOpened() throws -> Timestamp? {
        guard case .integer(let moment)? = try self.ownObject(Name.browser)?["at"] else { return nil }
        return Timestamp(milliseconds: moment)
    }

    /// Notes that the browser was opened; `nil`: that its sign-in has ended.
    func setBrowserOpened(_ moment: Timestamp?) throws {
        guard let moment else { return try self.storage.remove(Name.browser) }
        let object: JSONObject = ["for": .string(self.registration), "at": .integer(moment.milliseconds)]
        try self.storage.write(JSON.object(object).serialized, to: Name.browser)
    }

    // MARK: The apps of one maker

    /// What another app of the device has left to sign in by.
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

    /// Leaves something for the other apps: an ID token and the secret that it names, together or not at all.
    func setGroup(idToken: String, deviceSecret: String) throws {
        guard let issuer else { return }
        let object: JSONObject = [
            "issuer": .string(issuer), "id_token": .string(idToken), "device_secret": .string(deviceSecret),
        ]
        try self.sharedStorage?.write(JSON.object(object).serialized, to: Name.group)
    }

    /// Takes away what is left by that secret.
    func removeGroup(by secret: String) throws {
        guard let group = try self.group(), constantTimeEqual(Array(group.deviceSecret.utf8), Array(secret.utf8)) else {
            return
        }
        try self.sharedStorage?.remove(Name.group)
    }

    // MARK: The person's choice

    /// Whether the person wants finger or face next time; `nil` where they have not been asked.
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

    /// What name and password are put behind, where the device has sensors.
    var credentialsBox: GuardedBox? {
        self.biometricKeys.map { GuardedBox(keys: $0, name: Name.guardedCredentials, random: self.random) }
    }

    /// A name and a password as they are saved.
    struct SavedCredentials: Sendable {
        /// Both, encrypted.
        var sealed: String
        /// Whether the server has said yes to them.
        var isGood: Bool
        /// The session that they have begun last, encrypted to the same key (``FormerSession``): the sign-in that follows ends
        /// that session. `nil` where there is none, or where the session is kept by itself.
        var formerSession: String?
    }

    /// What is saved, without a question.
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

    /// What servers have not been told yet, oldest first. Those of another registration are not this one's to send.
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

    /// Keeps them in the place of those before; the newest where there are too many. To be done ``alone(_:)``.
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
