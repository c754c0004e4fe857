import Testing
import UAF
import UAFClient

@Suite("uaf-sections §5.3, ASM API and Application API: every status has one code")
struct CommandStatusTests {
    @Test(
        "An authenticator's status becomes the module's, and that becomes the client's",
        arguments: [
            (CommandStatus.ok, ASMStatusCode.ok, ASMStatusCode.ok, ErrorCode.noError, ErrorCode.noError),
            (.errorUnknown, .error, .error, .unknown, .unknown),
            (.accessDenied, .accessDenied, .accessDenied, .authenticatorAccessDenied, .authenticatorAccessDenied),
            (.userNotEnrolled, .userNotEnrolled, .accessDenied, .userNotEnrolled, .authenticatorAccessDenied),
            (
                .cannotRenderTransactionContent, .error, .cannotRenderTransactionContent, .unknown,
                .invalidTransactionContent
            ),
            (.userCancelled, .userCancelled, .userCancelled, .userCancelled, .userCancelled),
            (.commandNotSupported, .error, .error, .unknown, .unknown),
            (.attestationNotSupported, .error, .error, .unknown, .unknown),
            (.parametersInvalid, .error, .error, .unknown, .unknown),
            (.keyDisappearedPermanently, .error, .keyDisappearedPermanently, .unknown, .keyDisappearedPermanently),
            (.timeout, .error, .error, .unknown, .unknown),
            (.userNotResponsive, .userNotResponsive, .userNotResponsive, .userNotResponsive, .userNotResponsive),
            (
                .insufficientResources, .insufficientAuthenticatorResources, .error,
                .insufficientAuthenticatorResources, .unknown
            ),
            (.userLockout, .userLockout, .userLockout, .userLockout, .userLockout),
            (CommandStatus(rawValue: 0x77), .error, .error, .unknown, .unknown),
        ])
    func mapping(
        status: CommandStatus, register: ASMStatusCode, sign: ASMStatusCode, registerCode: ErrorCode,
        signCode: ErrorCode
    ) {
        #expect(status.asmStatus(of: .register) == register)
        #expect(status.asmStatus(of: .sign) == sign)
        #expect(register.errorCode == registerCode)
        #expect(sign.errorCode == signCode)
    }

    @Test("Deregistering with an authenticator that keeps no handles is done by the module alone")
    func deregister() {
        #expect(CommandStatus.commandNotSupported.asmStatus(of: .deregister) == .ok)
        #expect(CommandStatus.errorUnknown.asmStatus(of: .deregister) == .error)
        #expect(CommandStatus.userLockout.asmStatus(of: .deregister) == .error)
    }

    @Test(
        "The statuses that may answer each request",
        arguments: [
            (ASMRequestType.getInfo, "GetInfo", [0x00, 0x01]),
            (.register, "Register", [0x00, 0x01, 0x02, 0x03, 0x0B, 0x0E, 0x0F, 0x10, 0x11]),
            (.authenticate, "Authenticate", [0x00, 0x01, 0x02, 0x03, 0x04, 0x09, 0x0B, 0x0E, 0x10, 0x11]),
            (.deregister, "Deregister", [0x00, 0x01, 0x02, 0x0B]),
            (.getRegistrations, "GetRegistrations", [0x00, 0x01, 0x0B]), (.openSettings, "OpenSettings", [0x00]),
        ] as [(ASMRequestType, String, Set<UInt16>)])
    func allowed(request: ASMRequestType, name: String, statuses: Set<UInt16>) {
        #expect(request.rawValue == name)
        #expect(Set(request.statuses.map(\.rawValue)) == statuses)
    }

    @Test("Whatever an authenticator answers, one allowed status and one code of the standard come of it")
    func total() {
        let known: Set<ErrorCode> = [
            .noError, .userCancelled, .noSuitableAuthenticator, .keyDisappearedPermanently, .authenticatorAccessDenied,
            .invalidTransactionContent, .userNotResponsive, .insufficientAuthenticatorResources, .userLockout,
            .userNotEnrolled, .unknown,
        ]
        for command in CommandStatus.Command.allCases {
            for value in UInt16.min...UInt16.max {
                let status = CommandStatus(rawValue: value).asmStatus(of: command)
                guard command.request.statuses.contains(status), known.contains(status.errorCode) else {
                    Issue.record("\(value) of \(command) becomes \(status)")
                    return
                }
                // Nothing but success is success.
                if status == .ok, value != 0, !(command == .deregister && value == 6) {
                    Issue.record("\(value) of \(command) is no success")
                }
            }
        }
        // Every status that a request allows has its own code, and everything else is unknown.
        var codes: [ErrorCode: Set<ASMStatusCode>] = [:]
        for value in UInt16.min...UInt16.max {
            let status = ASMStatusCode(rawValue: value)
            codes[status.errorCode, default: []].insert(status)
        }
        let allowed = ASMRequestType.allCases.reduce(into: Set<ASMStatusCode>()) { $0.formUnion($1.statuses) }
        for (code, statuses) in codes where code != .unknown {
            #expect(statuses.count == 1 && allowed.isSuperset(of: statuses))
        }
        #expect(Set(codes.keys) == known)
    }
}
