import Testing
import UAF

@Suite("uaf-sections §4 and §5: numbers and names")
struct RegistryTests {
    @Test("Algorithms, formats and attestations have the registry's numbers")
    func numbers() {
        #expect(SignatureAlgorithm.p256Raw.rawValue == 1)
        #expect(SignatureAlgorithm.p256DER.rawValue == 2)
        #expect(SignatureAlgorithm.rsaPSSRaw.rawValue == 3)
        #expect(SignatureAlgorithm.rsaPSSDER.rawValue == 4)
        #expect(SignatureAlgorithm.secp256k1Raw.rawValue == 5)
        #expect(SignatureAlgorithm.secp256k1DER.rawValue == 6)
        #expect(SignatureAlgorithm.sm2Raw.rawValue == 7)
        #expect(SignatureAlgorithm.rsaPKCS1Raw.rawValue == 8)
        #expect(SignatureAlgorithm.rsaPKCS1DER.rawValue == 9)
        #expect(PublicKeyFormat.eccX962Raw.rawValue == 0x100)
        #expect(PublicKeyFormat.eccX962DER.rawValue == 0x101)
        #expect(PublicKeyFormat.rsa2048Raw.rawValue == 0x102)
        #expect(PublicKeyFormat.rsa2048DER.rawValue == 0x103)
        #expect(AttestationType.basicFull.rawValue == 15879)
        #expect(AttestationType.basicSurrogate.rawValue == 15880)
        #expect(AttestationType.ecdaa.rawValue == 15881)
        #expect(AuthenticationMode.userVerified.rawValue == 1)
        #expect(AuthenticationMode.transactionConfirmed.rawValue == 2)
    }

    @Test("An algorithm says which keys it needs, and whether its signatures stand in DER")
    func kinds() {
        let known = (UInt16(0)...0x20).map(SignatureAlgorithm.init(rawValue:)).filter { $0.keyKind != nil }
        #expect(known.map(\.rawValue) == [1, 2, 3, 4, 5, 6, 8, 9])
        #expect(known.map(\.keyKind) == [.p256, .p256, .rsa, .rsa, .secp256k1, .secp256k1, .rsa, .rsa])
        #expect(known.filter(\.isDER).map(\.rawValue) == [2, 4, 6, 9])
    }

    @Test("Wire names are those of the standard")
    func names() {
        #expect(UAF.Operation.registration.rawValue == "Reg")
        #expect(UAF.Operation.authentication.rawValue == "Auth")
        #expect(UAF.Operation.deregistration.rawValue == "Dereg")
        #expect(AssertionScheme.uafV1TLV.rawValue == "UAFV1TLV")
        #expect(Transaction.ContentType.textPlain.rawValue == "text/plain")
        #expect(Transaction.ContentType.imagePNG.rawValue == "image/png")
    }

    @Test("Server status codes have the numbers of §5.1")
    func statusCodes() {
        let codes: [(UAFStatusCode, Int)] = [
            (.ok, 1200),
            (.accepted, 1202),
            (.badRequest, 1400),
            (.unauthorized, 1401),
            (.forbidden, 1403),
            (.notFound, 1404),
            (.requestTimeout, 1408),
            (.unknownAAID, 1480),
            (.unknownKeyID, 1481),
            (.channelBindingRefused, 1490),
            (.invalidRequest, 1491),
            (.unacceptableAuthenticator, 1492),
            (.revokedAuthenticator, 1493),
            (.unacceptableKey, 1494),
            (.unacceptableAlgorithm, 1495),
            (.unacceptableAttestation, 1496),
            (.unacceptableClientCapabilities, 1497),
            (.unacceptableContent, 1498),
            (.internalServerError, 1500),
        ]
        for (code, number) in codes { #expect(code.rawValue == number) }
    }

    @Test(
        "Each ASM status maps to one client error code (§5.3)",
        arguments: [
            (ASMStatusCode.ok, ErrorCode.noError),
            (.error, .unknown),
            (.accessDenied, .authenticatorAccessDenied),
            (.userCancelled, .userCancelled),
            (.cannotRenderTransactionContent, .invalidTransactionContent),
            (.keyDisappearedPermanently, .keyDisappearedPermanently),
            (.authenticatorDisconnected, .noSuitableAuthenticator),
            (.userNotResponsive, .userNotResponsive),
            (.insufficientAuthenticatorResources, .insufficientAuthenticatorResources),
            (.userLockout, .userLockout),
            (.userNotEnrolled, .userNotEnrolled),
            (ASMStatusCode(rawValue: 0x7F), .unknown),
        ])
    func asmStatus(status: ASMStatusCode, code: ErrorCode) {
        #expect(status.errorCode == code)
    }

    @Test("Client error codes have the numbers of §5.2")
    func errorCodes() {
        #expect(ErrorCode.userCancelled.rawValue == 3)
        #expect(ErrorCode.noSuitableAuthenticator.rawValue == 5)
        #expect(ErrorCode.keyDisappearedPermanently.rawValue == 9)
        #expect(ErrorCode.authenticatorAccessDenied.rawValue == 0x0C)
        #expect(ErrorCode.userNotEnrolled.rawValue == 0x11)
        #expect(ErrorCode.unknown.rawValue == 0xFF)
    }

    @Test(
        "User verification matches when equal, or when neither is a set of all and they share a method (§2.2)",
        arguments: [
            (UserVerification.passcode, UserVerification.passcode, true),
            ([.passcode, .fingerprint], .fingerprint, true),
            (.passcode, .fingerprint, false),
            ([.passcode, .fingerprint, .all], .fingerprint, false),
            (.fingerprint, [.passcode, .fingerprint, .all], false),
            ([.passcode, .fingerprint, .all], [.passcode, .fingerprint, .all], true),
            ([.passcode, .fingerprint, .all], [.passcode, .fingerprint], false),
            (UserVerification(rawValue: 0x3FF), .none, true),
            ([], .passcode, false),
        ] as [(UserVerification, UserVerification, Bool)])
    func userVerification(criterion: UserVerification, authenticator: UserVerification, matches: Bool) {
        #expect(criterion.matches(authenticator) == matches)
        #expect(authenticator.matches(criterion) == matches)
    }

    @Test("Flags have the registry's bits")
    func flags() {
        let verification: [(UserVerification, UInt32)] = [
            (.presence, 1),
            (.fingerprint, 2),
            (.passcode, 4),
            (.voiceprint, 8),
            (.faceprint, 16),
            (.location, 32),
            (.eyeprint, 64),
            (.pattern, 128),
            (.handprint, 256),
            (.none, 512),
            (.all, 1024),
        ]
        for (flag, bit) in verification { #expect(flag.rawValue == bit) }
        #expect(UserVerification.none.isSilent && !UserVerification.passcode.isSilent)
        let protection: [(KeyProtection, UInt16)] = [
            (.software, 1),
            (.hardware, 2),
            (.tee, 4),
            (.secureElement, 8),
            (.remoteHandle, 16),
        ]
        for (flag, bit) in protection { #expect(flag.rawValue == bit) }
        let matcher: [(MatcherProtection, UInt16)] = [(.software, 1), (.tee, 2), (.onChip, 4)]
        for (flag, bit) in matcher { #expect(flag.rawValue == bit) }
        let hints: [(AttachmentHint, UInt32)] = [
            (.internal, 1),
            (.external, 2),
            (.wired, 4),
            (.wireless, 8),
            (.nfc, 16),
            (.bluetooth, 32),
            (.network, 64),
            (.ready, 128),
            (.wifiDirect, 256),
        ]
        for (flag, bit) in hints { #expect(flag.rawValue == bit) }
        let displays: [(TransactionConfirmationDisplay, UInt16)] = [
            (.any, 1),
            (.privilegedSoftware, 2),
            (.tee, 4),
            (.hardware, 8),
            (.remote, 16),
        ]
        for (flag, bit) in displays { #expect(flag.rawValue == bit) }
    }

    @Test("Tags say by their bits whether they are critical and composite (§3)")
    func tags() {
        #expect(TLVTag.keyRegistrationData.isComposite && TLVTag.keyRegistrationData.isCritical)
        #expect(!TLVTag.keyID.isComposite && TLVTag.keyID.isCritical)
        #expect(!TLVTag.userVerificationIndex.isCritical)
        #expect(TLVTag.keyID.rawValue ^ TLVTag.attestationECDAA.rawValue == 0x1000)
        #expect(TLVTag.userVerificationIndex.description == "0x0104")
    }
}
