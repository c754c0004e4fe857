import ArgumentParser
import CeremonyEngine
import Foundation
import Logging
import _Primitives

/// `countersign serve`: the server.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the server.",
        discussion: """
            Without any option it listens on this machine alone, at http://localhost:8080, makes its data folder and \
            its key file at the first start, and prints a one-time link for the first administrator.

            Settings come from a YAML file, then the environment, then flags; the later one wins. Names are those of \
            --print-config: keyFile is COUNTERSIGN_KEY_FILE and --key-file.
            """
    )

    @Option(name: .long, help: "A YAML file of settings.")
    var config: String?

    @Option(name: .long, help: "The folder for the database.")
    var data: String?

    @Option(name: .long, help: "Where to listen, as HOST:PORT.")
    var bind: String?

    @Option(name: .long, help: "Where health checks listen, as HOST:PORT.")
    var operationsBind: String?

    @Option(name: .long, help: "The address that people and services use, e.g. https://sign-in.example.com.")
    var issuer: String?

    @Option(
        name: .long,
        help: "What the deployment is called: on pages, in letters, on phones, and in one-time passwords' labels.")
    var serviceName: String?

    @Option(
        name: .long,
        help:
            "The address that people were enrolled at before, where --issuer is meant to take its place: they must be enrolled anew."
    )
    var formerIssuer: String?

    @Option(name: .long, help: "The file of the key-encryption key, outside the data folder; made where missing.")
    var keyFile: String?

    @Option(name: .long, help: "A certificate chain in PEM, the server's own first; read again on SIGHUP.")
    var tlsCertificate: String?

    @Option(name: .long, help: "The certificate's private key in PEM; read again on SIGHUP.")
    var tlsKey: String?

    @Option(
        name: .long,
        help:
            "Where a second listener asks clients for their certificates (mTLS, RFC 8705), as HOST:PORT; it ends TLS itself."
    )
    var mtlsBind: String?

    @Option(
        name: .long,
        help: """
            The address that clients reach it at, e.g. https://mtls.sign-in.example.com (default: the host of --issuer and \
            the port of --mtls-bind).
            """)
    var mtlsAddress: String?

    @Option(
        name: .long,
        help:
            "The certificates, PEM, of the authorities that issue clients' certificates; without it clients register their keys."
    )
    var mtlsCa: String?

    @Option(
        name: .long,
        help: "The certificate chain that the second listener shows (default: --tls-certificate); read again on SIGHUP."
    )
    var mtlsCertificate: String?

    @Option(name: .long, help: "The private key of that; read again on SIGHUP.")
    var mtlsKey: String?

    @Option(
        name: .long,
        help:
            "Connections that people and services can have open at a time (default: what the open files' limit leaves)."
    )
    var connections: String?

    @Option(name: .long, help: "Proxies whose forwarded headers count, as CIDR,CIDR.")
    var trustedProxies: String?

    @Flag(
        name: .long,
        help: "Let clients register themselves (RFC 7591), with tokens of `countersign admin registration-token`.")
    var clientRegistration = false

    @Flag(
        name: .long,
        help: """
            Let anybody register a client, without a token. People are asked each time, and told that nobody here knows the \
            service.
            """)
    var openClientRegistration = false

    @Flag(
        name: .long,
        help: """
            Let services come whose client_id is the https address of their own metadata. People are asked each time, and \
            told that nobody here knows the service.
            """)
    var clientIdDocuments = false

    @Option(
        name: .long,
        help: "With --client-registration: a JSON file of who may vouch for software, {\"ISSUER\": JWK set, …}.")
    var softwareStatements: String?

    @Option(
        name: .long,
        help: "The version of the terms of use that everybody has to agree to, as 2027-01; with --terms-uri.")
    var termsVersion: String?

    @Option(name: .long, help: "Where people read those terms, https.")
    var termsUri: String?

    @Option(name: .long, help: "What access tokens of the app sign-in service name as their issuer: any text.")
    var signInIssuer: String?

    @Option(name: .long, help: "What the names of its cookies begin with.")
    var signInCookiePrefix: String?

    @Option(name: .long, help: "The site whose hosts all get its access token and info cookie; else this host alone.")
    var signInCookieDomain: String?

    @Option(
        name: .long,
        help: """
            Private networks that services may be called in, as CIDR,CIDR: to be told of logouts, and for their keys. \
            Without it only public addresses are called. Addresses that devices name are not called there.
            """)
    var outgoingNetworks: String?

    @Option(
        name: .long,
        help: """
            A PEM file of certification authorities that calls to services and other providers trust beside those of this \
            machine.
            """)
    var caFile: String?

    @Option(
        name: .long,
        help: """
            A JSON file of your apps by team, bundle, package and certificates: facets, association files, push topic and \
            attested apps follow.
            """)
    var apps: String?

    @Option(
        name: .long,
        help: "Apps that may answer beside the terminal phone and --apps (FIDO facet ids), separated by commas.")
    var facets: String?

    @Flag(name: .long, help: "Take no answers of the terminal phone.")
    var noTerminalPhone = false

    @Option(
        name: .long,
        help: """
            Whether registrations prove which app they come from, by Apple's App Attest: off, optional (wrong evidence is \
            refused) or required (missing evidence too).
            """)
    var appAttestation: String?

    @Option(
        name: .long,
        help: """
            The apps whose attestations count beside --apps, as TEAM.BUNDLE,TEAM.BUNDLE=development; with \
            --app-attestation.
            """)
    var attestedApps: String?

    @Option(
        name: .long,
        help: """
            Apps (FIDO facet ids) that register without an attestation though --app-attestation is required: any program can \
            call itself so.
            """)
    var unattestedFacets: String?

    @Option(
        name: .long,
        help: """
            For trying out alone, on this machine alone: the root of a simulated App Attest, PEM, as `countersign-phone \
            app` makes it, in place of Apple's.
            """)
    var simulatedAppRoot: String?

    @Option(
        name: .long,
        help: "A folder of metadata statements, one a file, and revoked.json; read again on SIGHUP.")
    var metadata: String?

    @Option(
        name: .long, help: "A folder of policies that services may name, NAME.json each; read again on SIGHUP.")
    var policies: String?

    @Option(
        name: .long,
        help: """
            The certificates, as FILE.pem,FILE.pem, one of which a phone must have seen on the connection that its \
            request came through: this server's or its proxy's; read again on SIGHUP.
            """)
    var channelBinding: String?

    @Flag(name: .long, help: "Let phones answer that do not tell which certificate they saw.")
    var channelBindingIfTold = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "What the standard is against but some products need, as NAME,NAME.",
            discussion: "There are: \(Leniency.names.joined(separator: ", ")).", valueName: "names"))
    var lenient: String?

    @Option(name: .long, help: "The versions of UAF that answers may have, as 1.0,1.1; requests are of 1.1.")
    var versions: String?

    @Option(name: .long, help: "Extensions of responses that may be there, as ID,ID.")
    var extensions: String?

    @Option(name: .long, help: "The key for Apple's push service (AuthKey_….p8), which only this user can read.")
    var apnsKey: String?

    @Option(name: .long, help: "The name of that key at Apple, ten letters.")
    var apnsKeyId: String?

    @Option(name: .long, help: "The team of that key at Apple, ten letters (default: that of --apps).")
    var apnsTeam: String?

    @Option(
        name: .long,
        help: "The bundle identifier of the app that Apple's push service reaches (default: that of --apps).")
    var apnsTopic: String?

    @Option(
        name: .long,
        help: "The environment of the app's push entitlement: production (App Store, TestFlight) or development.")
    var apnsEnvironment: String?

    @Option(name: .long, help: "Another address for Apple's push service, https://HOST:PORT: a gateway, or a test.")
    var apnsAddress: String?

    @Option(
        name: .long,
        help: "A service account for Firebase Cloud Messaging (JSON), which only this user can read.")
    var fcmAccount: String?

    @Option(name: .long, help: "Another address for Firebase Cloud Messaging, https://HOST:PORT.")
    var fcmAddress: String?

    @Option(
        name: .long,
        help: "The server's key for Web Push, a key on P-256 in PEM, which only this user can read.")
    var webPushKey: String?

    @Option(
        name: .long,
        help: "How push services of the web reach you, mailto:ADDRESS or an https address; with --web-push-key.")
    var webPushContact: String?

    @Flag(
        name: .long,
        help: "Send to the push servers of UnifiedPush that people's devices name; with --web-push-key identified.")
    var unifiedPush = false

    @Option(
        name: .long,
        help: """
            Private networks, as CIDR,CIDR, of push servers that devices may name. Anybody with a device can name any \
            address there. Without it only public addresses are called.
            """)
    var pushNetworks: String?

    @Option(
        name: .long,
        help: "A list of breached passwords, which nobody may choose: `countersign hash breached` makes it.")
    var breachedPasswords: String?

    @Option(
        name: .long,
        help:
            "A simulated register of people, one JSON object a line, for trying out what clients of the app sign-in service are told where somebody is in it twice, locked, or known by another number."
    )
    var simulatedPeople: String?

    @Option(
        name: .long,
        help: """
            A command that takes mail as sendmail does, such as "/usr/sbin/sendmail -t -i": a path and words, which no \
            shell sees. Without it no mail is sent, and nobody resets a password by it.
            """)
    var mailCommand: String?

    @Option(name: .long, help: "The address that mail comes from.")
    var mailFrom: String?

    @Option(
        name: .long,
        help: """
            The socket of `countersign pin-service`, which evaluates the PINs of all activations that are enrolled from then \
            on.
            """)
    var pinService: String?

    @Flag(
        name: .long,
        help: "Refuse the apps of personalised identities that say nothing of how sound their device is.")
    var requireSecurityReport = false

    @Flag(
        name: .long,
        help: "Take apps of personalised identities that say that their device is rooted, or its like.")
    var acceptRooted = false

    @Flag(
        name: .long,
        help: "Take apps of personalised identities that say that something has reached into them.")
    var acceptHooked = false

    @Option(
        name: .long,
        help: """
            What people sign with who change something of their own identity in an app: alternatives, separated by \
            commas, of pin, device and biometric.
            """)
    var accountFactors: String?

    @Option(
        name: .long,
        help:
            "How many characters new PINs of personalised identities have, from \(IdentityRules.anyPinLength.lowerBound) to \(IdentityRules.anyPinLength.upperBound), as LEAST-MOST."
    )
    var pinLength: String?

    @Option(name: .long, help: "Lifetimes in seconds, budgets and shares as numbers: name=number,name=number.")
    var limits: String?

    @Option(name: .long, help: "A file for the arrows of every run (no request data), to be drawn with `trace draw`.")
    var trace: String?

    @Flag(name: .long, help: "Allow --trace where others than this machine reach the server.")
    var traceBeyondLoopback = false

    @Option(
        name: .long,
        help:
            "How the log is written: text, or json with an object a line (default: \(ServeConfiguration.usual.logFormat.rawValue))."
    )
    var logFormat: String?

    @Option(
        name: .long,
        help:
            "What the log has: trace, debug, info, notice, warning, error or critical, and worse (default: \(ServeConfiguration.usual.logLevel.rawValue))."
    )
    var logLevel: String?

    @Flag(name: .long, help: "Print the merged settings and stop.")
    var printConfig = false

    func run() async throws {
        let configuration = try await ServeConfiguration.load(file: self.config, flags: self.flags)
        if self.printConfig {
            configuration.warn(by: configuration.logger())
            Terminal.standardOutput(configuration.printed)
            return
        }
        try await ServerProcess(configuration: configuration).run()
    }
}
