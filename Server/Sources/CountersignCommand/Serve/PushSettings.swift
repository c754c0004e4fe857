import CeremonyEngine
import Crypto
import Foundation
import NIOSSL
import OAuthProvider
import Push
import Settings
import UAFRelyingParty
import _Primitives

/// The settings of push services: at most one service of each kind.
struct PushSettings: Sendable, Equatable {
    /// The key file of a team at Apple, the names of key and team, the app, and the environment of the app's signature.
    var apnsKey: String?
    var apnsKeyID: String?
    var apnsTeam: String?
    var apnsTopic: String?
    var apnsEnvironment: String?
    /// The address of Apple's service, if another address stands for the address of the environment.
    var apnsAddress: String?
    /// The file of a service account at Google.
    var fcmAccount: String?
    /// The address of Firebase Cloud Messaging.
    var fcmAddress = FCM.usualAddress
    /// The key file of this server for Web Push, and the operator's address for push services.
    var webPushKey: String?
    var webPushContact: String?
    /// `true` if the server sends to the push servers of UnifiedPush that devices name.
    var unifiedPush = false

    /// Checks the settings that go together. Reads no file. Throws a usage ``CommandFailure``.
    ///
    /// - Parameter hasApps: `true` if a file of the operator's apps can name team and topic.
    func check(hasApps: Bool = false) throws {
        let apns = [self.apnsKey, self.apnsKeyID, self.apnsTeam, self.apnsTopic, self.apnsEnvironment]
        let needed = hasApps ? [self.apnsKey, self.apnsKeyID, self.apnsEnvironment] : apns
        guard apns.allSatisfy({ $0 == nil }) || needed.allSatisfy({ $0 != nil }) else {
            throw CommandFailure(
                .usage,
                "--apns-key, --apns-key-id, --apns-team, --apns-topic and --apns-environment go together; --apps can name team and topic",
                remedy: "The key and its name come from Apple's page of keys, the team from the page of the membership."
            )
        }
        for (name, text) in [("apnsKeyId", self.apnsKeyID), ("apnsTeam", self.apnsTeam), ("apnsTopic", self.apnsTopic)]
        {
            guard text?.utf8.allSatisfy(Self.isLetterOfName) ?? true, text?.isEmpty != true else {
                throw CommandFailure(.usage, "\(name) takes letters, digits, dots and hyphens")
            }
        }
        if let environment = self.apnsEnvironment, APNs.Environment(exactly: environment) == nil {
            throw CommandFailure(
                .usage, "apnsEnvironment takes production or development, not \(environment)",
                remedy: "An app from the App Store or TestFlight is of production, an app from Xcode of development.")
        }
        guard self.apnsAddress == nil || self.apnsKey != nil else {
            throw CommandFailure(.usage, "--apns-address needs --apns-key")
        }
        for (name, address) in [("apnsAddress", self.apnsAddress), ("fcmAddress", self.fcmAddress)] {
            guard let address else { continue }
            guard address.hasPrefix("https://"), let read = PublicAddress(address), read.text == address,
                read.path.isEmpty
            else { throw CommandFailure(.usage, "\(name) takes https://HOST or https://HOST:PORT") }
        }
        guard (self.webPushKey == nil) == (self.webPushContact == nil) else {
            throw CommandFailure(.usage, "--web-push-key and --web-push-contact go together")
        }
        if let contact = self.webPushContact {
            guard contact.hasPrefix("mailto:") || contact.hasPrefix("https://"),
                contact.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else {
                throw CommandFailure(
                    .usage, "webPushContact takes mailto:ADDRESS or an https address, by which push services reach you")
            }
        }
    }

    private static func isLetterOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}

extension PushSettings {
    /// Returns the settings with the team and the topic of Apple's service, which follow from the apps where no setting
    /// names them. Throws a usage ``CommandFailure`` if more or fewer apps than one could be meant.
    func completed(by apps: [AppEntry]) throws -> PushSettings {
        guard self.apnsKey != nil, self.apnsTeam == nil || self.apnsTopic == nil else { return self }
        let meant = apps.compactMap(\.apple).filter { app in
            app.teamID.hasSameBytes(as: self.apnsTeam ?? app.teamID)
                && app.bundleID.hasSameBytes(as: self.apnsTopic ?? app.bundleID)
        }
        guard meant.count == 1 else {
            throw CommandFailure(
                .usage, "--apns-team and --apns-topic fit \(meant.count) apps of --apps, and only one can be meant",
                remedy: "Name the app's bundle with --apns-topic, and the key's team with --apns-team.")
        }
        var settings = self
        (settings.apnsTeam, settings.apnsTopic) = (meant[0].teamID, meant[0].bundleID)
        return settings
    }

    /// The push services of the settings, with the connections that the services share.
    struct Services: Sendable {
        let apns: APNs?
        let fcm: FCM?
        let webPush: WebPush?
        let unifiedPush: UnifiedPush?
        let connections: ProviderConnections
    }

    /// Reads the key files and opens the services; `nil` if no service is set up. Throws ``CommandFailure`` that names the
    /// file and the setting.
    ///
    /// - Parameters:
    ///   - tls: The authorities that the certificates of Apple and Google need.
    ///   - calls: The way to the push services that devices name.
    func open(tls: TLSConfiguration, calls: CheckedCalls, limits: Limits) throws -> Services? {
        let (apns, account, webPush) = (
            try self.apnsCredential(limits.push), try self.serviceAccount(), try self.webPush(calls, limits.push)
        )
        let unifiedPush =
            self.unifiedPush
            ? UnifiedPush(identification: webPush?.identification, calls: calls, limits: limits.push) : nil
        guard apns != nil || account != nil || webPush != nil || unifiedPush != nil else { return nil }
        let connections = ProviderConnections(tls: tls, time: limits.push.callTime)
        return Services(
            apns: apns.map { credential, topic, address in
                APNs(credential, topic: topic, address: address, calls: connections, limits: limits.push)
            },
            fcm: account.map { FCM($0, address: self.fcmAddress, calls: connections, limits: limits.push) },
            webPush: webPush, unifiedPush: unifiedPush, connections: connections)
    }

    /// Returns the addresses of Apple's and Google's services that the settings use. Reads the service account. Throws
    /// ``CommandFailure``.
    func addresses() throws -> [String] {
        var addresses: [String] = []
        if self.apnsKey != nil, let environment = self.apnsEnvironment.flatMap({ APNs.Environment(exactly: $0) }) {
            addresses.append(self.apnsAddress ?? environment.address)
        }
        if let account = try self.serviceAccount() { addresses += [self.fcmAddress, account.tokenAddress] }
        return addresses
    }

    private func apnsCredential(_ limits: Limits.Push) throws -> (APNsCredential, topic: String, address: String)? {
        guard let path = self.apnsKey, let keyID = self.apnsKeyID, let team = self.apnsTeam, let topic = self.apnsTopic,
            let environment = self.apnsEnvironment.flatMap({ APNs.Environment(exactly: $0) })
        else { return nil }
        let key = try Self.key(path, setting: "--apns-key", remedy: "Apple gives the file once, as AuthKey_….p8.")
        return (
            try APNsCredential(key: key, keyID: keyID, team: team, limits: limits), topic,
            self.apnsAddress ?? environment.address
        )
    }

    private func serviceAccount() throws -> ServiceAccount? {
        guard let path = self.fcmAccount else { return nil }
        do { return try ServiceAccount(file: try PushKeyFile(path: path, setting: "--fcm-account").bytes()) } catch let
            error as ServiceAccountError
        {
            throw CommandFailure(
                .failed, "\(path) is no service account: \(error.reason)",
                remedy: "--fcm-account names the file that Firebase's page of service accounts makes (JSON).")
        }
    }

    private func webPush(_ calls: CheckedCalls, _ limits: Limits.Push) throws -> WebPush? {
        guard let path = self.webPushKey, let contact = self.webPushContact else { return nil }
        let key = try Self.key(
            path, setting: "--web-push-key",
            remedy: "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out FILE makes a key.")
        return try WebPush(key: key, contact: contact, calls: calls, limits: limits)
    }

    private static func key(_ path: String, setting: String, remedy: String) throws -> P256.Signing.PrivateKey {
        let bytes = try PushKeyFile(path: path, setting: setting).bytes()
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: String(decoding: bytes, as: UTF8.self)) else {
            throw CommandFailure(.failed, "\(path) holds no key on P-256 in PEM (\(setting))", remedy: remedy)
        }
        return key
    }
}

/// A key file of a push service. Only the file's owner can read the file.
private struct PushKeyFile {
    let path: String
    let setting: String
    /// The folder in which the service manager puts credentials (``KeyFile/credentialsFolder``).
    var credentialsFolder = ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"]

    /// Reads the file. Throws ``CommandFailure`` if others can read the file, or nobody can, or if the file is too long.
    func bytes() throws -> [UInt8] {
        let resolved = URL(fileURLWithPath: self.path).resolvingSymlinksInPath().path
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: resolved),
            let mode = attributes[.posixPermissions] as? Int
        else { throw CommandFailure(.notFound, "there is no file \(self.path), which \(self.setting) names") }
        let isCredential = self.credentialsFolder.map { resolved.hasPrefix($0 + "/") } ?? false
        guard mode & (isCredential ? 0o037 : 0o077) == 0 else {
            throw CommandFailure(
                .failed, "the key file \(self.path) can be read by others (\(self.setting))",
                remedy: "chmod 600 \(self.path)")
        }
        // One byte more than allowed is enough to see that the file is too large.
        guard let file = FileHandle(forReadingAtPath: resolved),
            let data = try? file.read(upToCount: Limits.Fixed.pushKeyFileBytes + 1) ?? Data(),
            data.count <= Limits.Fixed.pushKeyFileBytes
        else { throw CommandFailure(.failed, "the key file \(self.path) cannot be read (\(self.setting))") }
        return Array(data)
    }
}

extension CheckedCalls: PushCalls {
    /// Calls the push service that a device has named: no private network, no redirect.
    func post(_ request: PushRequest) async throws -> PushResponse {
        do {
            let answer = try await self.send(
                OutgoingCall(
                    to: request.address, .bytes(request.body, fields: request.fields.map { .init($0.name, $0.value) }),
                    longestAnswer: Limits.Fixed.pushAnswerBytes, party: .device))
            return PushResponse(status: answer.status, retryAfter: answer.retryAfter, body: answer.body)
        } catch is OutgoingCallError {
            // The words of the call can name the device's host.
            throw PushCallError("the push service that the device has named cannot be called, or does not answer")
        }
    }
}
