import Ceremony
import Countersign
import Foundation
import PersonalInformation
import UAF
import UAFClient
import _Primitives

/// One authentication with a personalised identity, from its start to the server's answer.
struct IdentityAuthentication {
    let sdk: CountersignSDK
    let device: PhoneDevice
    private(set) var person: IdentityHolder
    /// The action that the person has begun on this phone, as an order: "Change the PIN".
    private let ownRequest: String?
    /// The service's name, once the name is known.
    private(set) var service = ""

    /// - Parameter ownRequest: The action that the person has begun on this phone, as an order; `nil` for a request
    ///   from elsewhere.
    init(_ sdk: CountersignSDK, on device: PhoneDevice, answeredBy person: IdentityHolder, ownRequest: String? = nil) {
        self.sdk = sdk
        self.device = device
        self.person = person
        self.ownRequest = ownRequest
    }

    private var report: Report { self.person.report }

    /// Authenticates. Throws ``Refusal`` if the person or the script stops or cannot go on; the program then tries to
    /// end the session at the server. Throws `CountersignError`.
    mutating func run(_ data: AuthenticationInitializationData) async throws -> AuthenticationResult {
        let request = try await self.sdk.authenticator.startAuthentication(data: data)
        var holder: any IdentitySessionHolder = request
        do {
            let information = try await self.prepare(request, isFromLink: data.isFromLink)
            holder = information
            return try await self.sign(information)
        } catch let refusal as Refusal {
            // The waiting page then shows another code at once. If the abort fails, the session ends by itself.
            try? await self.sdk.common.abort(holder)
            throw refusal
        }
    }

    // MARK: What is asked

    private mutating func prepare(_ request: AuthenticateRequest, isFromLink: Bool) async throws
        -> AuthenticationUserInformation
    {
        self.service = request.serviceName
        self.show(request, isFromLink: isFromLink)
        let role = request.roles[try await self.person.role(among: request.roles.map { ($0.id, $0.name) })]
        request.setSelection(role)
        let asked = AskedAttribute.all(of: request.info)
        var given: [PersonalAnswer] = []
        for attribute in asked { given.append(try await self.answer(attribute)) }
        self.show(given, role)
        guard await self.person.decides("\(self.ownRequest ?? "Approve")?") else { throw self.denied }
        while true {
            switch try await self.sdk.authenticator.prepareAuthenticationUserInformation(request: request) {
            case .success(let information): return information
            case .failure:
                let wrong = asked.filter { $0.error != .none }
                self.show(wrong: wrong)
                guard self.person.terminal.isInteractive, !wrong.isEmpty else {
                    let names = wrong.map(\.attribute.rawValue).joined(separator: ", ")
                    throw Refusal.failed(
                        "attributes-refused", "The server does not take what was said to \(names). Nothing was signed.")
                }
                for attribute in wrong { _ = try await self.answer(attribute) }
            }
        }
    }

    /// An attribute, and the value that the service gets.
    private typealias PersonalAnswer = (asked: AskedAttribute, given: IdentityHolder.Given, alias: String?)

    private func answer(_ asked: AskedAttribute) async throws -> PersonalAnswer {
        let (given, alias) = try await self.person.answer(asked)
        return (asked, given, alias)
    }

    private var denied: Refusal {
        Refusal(
            .refused, .denied, "denied",
            self.ownRequest == nil ? "Denied. The service has been told." : "You gave up. Nothing was done.")
    }

    private func show(_ request: AuthenticateRequest, isFromLink: Bool) {
        let asked = AskedAttribute.all(of: request.info)
        self.report.say([
            "event": .string("request"), "operation": .string("identity"), "service": .string(request.serviceName),
            "origin": .string(request.serviceURL), "server": .string(request.idmIdentifier),
            "roles": .array(
                request.roles.map { role in
                    .object([
                        "id": .string(role.id), "name": .string(role.name),
                        "factors": Self.json(role.requestedAuthenticators),
                    ])
                }),
            "attributes": .array(
                asked.map { attribute in
                    .object([
                        "attribute": .string(attribute.attribute.rawValue), "required": .bool(attribute.isRequired),
                        "missing": .bool(attribute.isDataMissing),
                        "aliases": .array(attribute.aliases.map { .string($0.alias) }),
                    ])
                }),
        ]) { terminal in
            terminal.print()
            if let own = self.ownRequest {
                terminal.print("You have begun this on this phone: \(own)", .bold)
                terminal.list([("At", request.serviceName), ("Identity", request.idmIdentifier)])
            } else {
                terminal.print("\(request.serviceName) asks who you are", .bold)
                terminal.list([("Origin", request.serviceURL), ("Identity", request.idmIdentifier)])
            }
            if isFromLink, self.ownRequest == nil {
                terminal.notice("This came in a link. Go on only if you have begun it yourself.")
            }
        }
    }

    private func show(_ given: [PersonalAnswer], _ role: RequestedRole) {
        self.report.say([
            "event": .string("disclosure"), "role": .string(role.name),
            "attributes": .array(
                given.map { answer in
                    var members: JSONObject = [
                        "attribute": .string(answer.asked.attribute.rawValue), "gives": .string(answer.given.rawValue),
                    ]
                    members.set("alias", answer.alias)
                    return .object(members)
                }),
        ]) { terminal in
            // An action that the person has begun here concerns only the person and the server, so nothing is shown.
            guard self.ownRequest == nil || !given.isEmpty else { return }
            terminal.print()
            terminal.print("You come as \(role.name). The service gets:", .bold)
            let rows = given.map { answer in
                let value =
                    switch answer.given {
                    case .alias: "your \(answer.alias ?? "")"
                    case .value: "what you typed, which your account keeps"
                    case .nothing: "nothing"
                    }
                return (name: answer.asked.title, value: value)
            }
            rows.isEmpty ? terminal.list([("Data", "none, but that it is you")]) : terminal.list(rows)
            terminal.print()
        }
    }

    private func show(wrong: [AskedAttribute]) {
        var errors: JSONObject = [:]
        for attribute in wrong { errors[attribute.attribute.rawValue] = .string(attribute.error.rawValue) }
        self.report.say(["event": .string("attributes"), "errors": .object(errors)]) { terminal in
            for attribute in wrong { terminal.failure("\(attribute.title): \(attribute.error.sentence)") }
        }
    }

    private static func json(_ alternatives: [[AuthenticatorType]]) -> JSON {
        .array(alternatives.map { .array($0.map { .string($0.name) }) })
    }

    // MARK: Signing

    private mutating func sign(_ information: AuthenticationUserInformation) async throws -> AuthenticationResult {
        guard information.missingAuthenticators.isEmpty else {
            let missing = information.missingAuthenticators.map(\.title).sorted().joined(separator: " and ")
            throw Refusal(
                .refused, .refused, "factor-not-enrolled",
                "The service wants \(missing), which this identity does not have. A finger is added with "
                    + "`countersign-phone factor add`.")
        }
        if let text = information.transactionText {
            self.report.say(["event": .string("text"), "text": .string(text)]) { terminal in
                terminal.box(title: "You are about to sign", text: DisplayText.lines(text).joined(separator: "\n"))
            }
        }
        let alternative = try await self.person.alternative(among: information.requestedAuthenticators)
        while true {
            for type in alternative {
                try information.sign(factor: try await self.factor(type, at: information.idmIdentifier))
            }
            switch try await self.sdk.authenticator.finishAuthentication(userInfo: information) {
            case .lockout(let lockout, _):
                try await self.rest(lockout)
            case let result: return result
            }
        }
    }

    private mutating func factor(_ type: AuthenticatorType, at server: String) async throws -> AuthenticationFactor {
        switch type {
        case .pin: return PinFactor(try await self.person.pin(.present))
        case .biometric:
            self.report.say(["event": .string("sensor"), "sensor": .string("biometric"), "simulated": .bool(true)]) {
                $0.print("The simulated sensor is asked (`sensor` says what it feels).")
            }
            return try await self.sdk.biometrics.factor(
                idmIdentifier: server, prompt: SystemPrompt(reason: "Confirm what you have just read"))
        default: return DeviceFactor()
        }
    }

    /// Waits for the end of a lockout, if the person can try again afterwards. Throws ``Refusal`` otherwise.
    private func rest(_ lockout: LockoutInformation) async throws {
        try await IdentityRest(device: self.device, person: self.person).sitOut(
            seconds: lockout.isPermanent ? nil : Int(lockout.duration.components.seconds) + 1,
            until: lockout.lockedUntil, isPending: false)
    }
}

/// The lockout after a failed attempt.
struct IdentityRest {
    let device: PhoneDevice
    let person: IdentityHolder

    /// Reports a lockout, and waits for its end if the person can try again. Throws ``Refusal`` otherwise: the lockout
    /// is permanent, a script has no other PIN, or a script would wait longer than ``PhoneLimits/scriptedRest``.
    ///
    /// - Parameters:
    ///   - seconds: The length of the lockout; `nil` for a permanent lockout.
    ///   - isPending: `true` if the lockout had begun before, so that nothing was judged.
    ///   - wrong: The message about the failed attempt.
    func sitOut(
        seconds: Int?, until end: Date, isPending: Bool,
        wrong: String = "That was not right. Which part of it, nobody says."
    ) async throws {
        guard let seconds else { throw Refusal(lockedFor: nil) }
        self.person.report.say([
            "event": .string("lockout"), "lockedUntil": .string(Self.text(end)), "seconds": .integer(Int64(seconds)),
            "pending": .bool(isPending),
        ]) { $0.failure(wrong) }
        let isSatOut = self.person.terminal.isInteractive || .seconds(seconds) <= PhoneLimits.scriptedRest
        guard self.person.canTryAgain, isSatOut else { throw Refusal(lockedFor: seconds) }
        if self.person.terminal.isInteractive {
            try await self.person.terminal.countDown(seconds, "You can try again in")
        } else {
            try await self.device.sleep(for: .seconds(seconds))
        }
    }

    /// Returns a moment in the form for lines of JSON (RFC 3339).
    static func text(_ moment: Date) -> String { moment.formatted(.iso8601) }
}
