import CeremonyEngine
import Push
import Settings
import UAFRelyingParty
import _Primitives

/// The checks of push services: the network towards the services, and the credentials.
extension DoctorCheck {
    static let network = DoctorCheck(
        name: "network",
        looksAt: "whether the network lets this machine through to the push services of the settings",
        remedy:
            "Let this machine connect to each host at port 443 (firewall, outgoing rules of a cloud), and name your own authority with --ca-file if a proxy of yours ends TLS."
    ) { scene in
        let addresses = try scene.configuration.push.addresses()
        guard !addresses.isEmpty else { return .good("No push service with an address of its own is set up.") }
        var problems: [String] = []
        for address in addresses {
            do { _ = try await scene.network().answer(of: address) } catch let failure as CommandFailure {
                problems.append("A push service is not reachable: \(failure.problem).")
            }
        }
        return problems.isEmpty ? .good("Reachable: \(addresses.joined(separator: ", ")).") : .bad(problems)
    }

    static let apns = DoctorCheck(
        name: "apns",
        looksAt:
            "whether Apple's push service takes the key of the settings: a push to no device is sent, and the team is compared with --apps",
        remedy:
            "Take the key (--apns-key), its name (--apns-key-id) and the team (--apns-team) from one team at Apple: the team of the app (--apns-topic)."
    ) { scene in
        let configuration = scene.configuration
        guard configuration.push.apnsKey != nil else { return .good("No key of Apple's push service is set up.") }
        let apps = try configuration.apps()
        let push = try configuration.push.completed(by: apps)
        let app = apps.compactMap(\.apple).first { $0.bundleID.hasSameBytes(as: push.apnsTopic ?? "") }
        if let app, let team = push.apnsTeam, !app.teamID.hasSameBytes(as: team) {
            return .bad([
                "The key is of the team \(team), and the app \(app.bundleID) has the team \(app.teamID) in --apps."
            ])
        }
        // A token of this form belongs to no device.
        let target = String(repeating: "0", count: 64)
        return try await scene.verdict(of: "Apple's push service", at: target, by: \.apns) { word in
            "Apple's push service refuses the key (\(word)): the key, its name and the team do not belong together, or the topic is of another team."
        }
    }

    static let fcm = DoctorCheck(
        name: "fcm",
        looksAt: "whether Firebase takes the service account of the settings: a message to no device is sent",
        remedy: """
            Give the account of --fcm-account the role “Firebase Cloud Messaging API Admin” in the project of your app, \
            switch that interface on in the project, and make another key if the account's key was deleted.
            """
    ) { scene in
        guard scene.configuration.push.fcmAccount != nil else { return .good("No service account is set up.") }
        return try await scene.verdict(of: "Firebase", at: "no-device", by: \.fcm) { word in
            "Firebase refuses the service account (\(word)): the account lacks the permission to send messages, or is of another project."
        }
    }
}

extension DoctorScene {
    /// Sends a push that says nothing to a target that no device has, and returns the meaning of the answer for the
    /// operator.
    ///
    /// - Parameter refused: Makes the sentence about a refused credential, of the service's word.
    fileprivate func verdict<Provider: PushProvider>(
        of service: String, at target: String, by provider: @Sendable (PushSettings.Services) -> Provider?,
        refused: (String) -> String
    ) async throws -> DoctorCheck.Verdict {
        let limits = Limits()
        let calls = try self.configuration.checkedCalls(limits)
        guard let services = try self.configuration.pushServices(calls: calls, limits) else {
            return .unknown("No push service is set up.")
        }
        let answer: Result<PushAnswer?, any Error>
        do {
            let now = self.time.now()
            answer = .success(
                try await provider(services)?.push(
                    PushContent(pointingUntil: now + limits.dispatchLifetime), to: target, at: now))
        } catch { answer = .failure(error) }
        await services.connections.close()
        switch answer {
        case .success(.dispatcherStopped(let word)): return .bad([refused(word)])
        case .success(.delivered), .success(.targetEnded), .success(.targetRefused), .success(.messageRefused):
            return .good("\(service) takes the credential of the settings.")
        case .success(.wait): return .unknown("\(service) takes no push now.")
        case .success(nil): return .unknown("\(service) is not set up.")
        case .failure(let error as PushCallError): return .unknown("\(service): \(error.reason).")
        case .failure(let error): throw error
        }
    }
}
