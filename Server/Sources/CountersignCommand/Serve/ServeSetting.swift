import AppSignIn
import CeremonyEngine
import Configuration
import OAuthProvider

/// A setting of `countersign serve`.
///
/// ``all`` is the table of settings. The names that a file and the environment may have, the flags, the loaded values
/// and the printed settings follow from the table.
struct ServeSetting: Sendable {
    /// The property of the command with the setting's flag.
    typealias OptionPath<Value> = any KeyPath<ServeCommand, Value> & Sendable
    /// The property of the configuration with the setting's value.
    typealias ValuePath<Value> = any WritableKeyPath<ServeConfiguration, Value> & Sendable

    /// The name in the file. The names of the variable and of the flag follow from the name.
    let name: String
    /// `true` if the setting is a list in the file, or one text with commas.
    let isList: Bool
    /// Returns the text that the setting's flag gives; `nil` without the flag.
    let flagText: @Sendable (ServeCommand) -> String?
    /// Puts the value of a text into a configuration. Throws a usage ``CommandFailure`` for a wrong text.
    let read: @Sendable (_ text: String, _ configuration: inout ServeConfiguration) throws -> Void
    /// Returns the text of a configuration's value; `nil` if the printed settings leave the setting out.
    let print: @Sendable (ServeConfiguration) -> String?

    /// Returns the text of the setting in the merged sources; `nil` if no source has the setting.
    func text(_ reader: ConfigReader) -> String? {
        let key = ConfigKey([self.name])
        if let text = reader.string(forKey: key) { return text }
        return self.isList ? reader.stringArray(forKey: key)?.joined(separator: ",") : nil
    }
}

extension ServeSetting {
    /// Returns a setting that always has a value. The printed settings leave the usual value out, unless the setting is
    /// always shown.
    private static func value<Value>(
        _ name: String, _ option: OptionPath<String?>, _ path: ValuePath<Value>, _ form: SettingForm<Value>,
        isAlwaysShown: Bool = false
    ) -> ServeSetting {
        ServeSetting(
            name: name, isList: form.isList, flagText: { $0[keyPath: option] },
            read: { $1[keyPath: path] = try form.read($0, name) },
            print: { configuration in
                let value = configuration[keyPath: path]
                let isShown = isAlwaysShown || value != ServeConfiguration.usual[keyPath: path]
                return isShown ? form.write(value) : nil
            })
    }

    /// Returns a setting without a value by default.
    private static func optional<Value>(
        _ name: String, _ option: OptionPath<String?>, _ path: ValuePath<Value?>, _ form: SettingForm<Value>
    ) -> ServeSetting {
        ServeSetting(
            name: name, isList: form.isList, flagText: { $0[keyPath: option] },
            read: { $1[keyPath: path] = try form.read($0, name) },
            print: { $0[keyPath: path].map(form.write) })
    }

    /// Returns a setting that is `false` by default. The flag takes no value, and means `true`.
    private static func flag(
        _ name: String, _ option: OptionPath<Bool>, _ path: ValuePath<Bool>
    ) -> ServeSetting {
        let form = SettingForm<Bool>.flag
        return ServeSetting(
            name: name, isList: form.isList, flagText: { $0[keyPath: option] ? form.write(true) : nil },
            read: { $1[keyPath: path] = try form.read($0, name) },
            print: { $0[keyPath: path] ? form.write(true) : nil })
    }
}

extension ServeSetting {
    /// All settings, in the order of the printed settings.
    static let all = Self.deployment + Self.clients + Self.phones + Self.push + Self.people + Self.tls + Self.records

    private static let deployment: [ServeSetting] = [
        .value("data", \.data, \.dataFolder, .path, isAlwaysShown: true),
        .value("keyFile", \.keyFile, \.keyFile, .path, isAlwaysShown: true),
        .value("bind", \.bind, \.bind, .endpoint, isAlwaysShown: true),
        .value("operationsBind", \.operationsBind, \.operationsBind, .endpoint, isAlwaysShown: true),
        .value("issuer", \.issuer, \.issuer, .address, isAlwaysShown: true),
        .value("serviceName", \.serviceName, \.serviceName, .text, isAlwaysShown: true),
        .optional("formerIssuer", \.formerIssuer, \.formerIssuer, .text),
        .optional("connections", \.connections, \.connections, .count),
        .value("trustedProxies", \.trustedProxies, \.trustedProxies, .words),
    ]

    private static let clients: [ServeSetting] = [
        .flag("clientRegistration", \.clientRegistration, \.clientRegistration),
        .flag("openClientRegistration", \.openClientRegistration, \.openClientRegistration),
        .flag("clientIdDocuments", \.clientIdDocuments, \.clientIDDocuments),
        .optional("softwareStatements", \.softwareStatements, \.softwareStatements, .path),
        .optional("termsVersion", \.termsVersion, \.termsVersion, .text),
        .optional("termsUri", \.termsUri, \.termsURI, .text),
        .optional("signInIssuer", \.signInIssuer, \.signInService.issuer, .text),
        .value("signInCookiePrefix", \.signInCookiePrefix, \.signInService.cookiePrefix, .text, isAlwaysShown: true),
        .optional("signInCookieDomain", \.signInCookieDomain, \.signInService.cookieDomain, .text),
        .value("outgoingNetworks", \.outgoingNetworks, \.outgoingNetworks, .words),
        .optional("caFile", \.caFile, \.caFile, .path),
    ]

    private static let phones: [ServeSetting] = [
        .optional("apps", \.apps, \.appsFile, .path),
        .value("facets", \.facets, \.facets, .words, isAlwaysShown: true),
        .flag("noTerminalPhone", \.noTerminalPhone, \.noTerminalPhone),
        .value("appAttestation", \.appAttestation, \.appAttestation.need, .choice),
        .value("attestedApps", \.attestedApps, \.appAttestation.apps, .words),
        .value("unattestedFacets", \.unattestedFacets, \.appAttestation.exceptedFacets, .words),
        .optional("simulatedAppRoot", \.simulatedAppRoot, \.appAttestation.simulatedRoot, .path),
        .optional("metadata", \.metadata, \.metadataFolder, .path),
        .optional("policies", \.policies, \.policiesFolder, .path),
        .value("versions", \.versions, \.versions, .texts),
        .value("channelBinding", \.channelBinding, \.channelBinding, .paths),
        .flag("channelBindingIfTold", \.channelBindingIfTold, \.channelBindingIfTold),
        .value("lenient", \.lenient, \.lenient, .words),
        .value("extensions", \.extensions, \.extensions, .words),
    ]

    private static let push: [ServeSetting] = [
        .optional("apnsKey", \.apnsKey, \.push.apnsKey, .path),
        .optional("apnsKeyId", \.apnsKeyId, \.push.apnsKeyID, .text),
        .optional("apnsTeam", \.apnsTeam, \.push.apnsTeam, .text),
        .optional("apnsTopic", \.apnsTopic, \.push.apnsTopic, .text),
        .optional("apnsEnvironment", \.apnsEnvironment, \.push.apnsEnvironment, .text),
        .optional("apnsAddress", \.apnsAddress, \.push.apnsAddress, .address),
        .optional("fcmAccount", \.fcmAccount, \.push.fcmAccount, .path),
        .value("fcmAddress", \.fcmAddress, \.push.fcmAddress, .address),
        .optional("webPushKey", \.webPushKey, \.push.webPushKey, .path),
        .optional("webPushContact", \.webPushContact, \.push.webPushContact, .text),
        .flag("unifiedPush", \.unifiedPush, \.push.unifiedPush),
        .value("pushNetworks", \.pushNetworks, \.pushNetworks, .words),
    ]

    private static let people: [ServeSetting] = [
        .optional("breachedPasswords", \.breachedPasswords, \.breachedPasswords, .path),
        .optional("simulatedPeople", \.simulatedPeople, \.simulatedPeople, .path),
        .optional("mailCommand", \.mailCommand, \.mailCommand, .text),
        .optional("mailFrom", \.mailFrom, \.mailFrom, .text),
        .optional("pinService", \.pinService, \.pinService, .path),
        .flag("requireSecurityReport", \.requireSecurityReport, \.identities.requiresSecurityReport),
        .flag("acceptRooted", \.acceptRooted, \.identities.acceptsRooted),
        .flag("acceptHooked", \.acceptHooked, \.identities.acceptsHooked),
        .value("accountFactors", \.accountFactors, \.identities.accountFactors, .factors),
        .value("pinLength", \.pinLength, \.identities.pinLength, .lengths),
    ]

    private static let tls: [ServeSetting] = [
        .optional("tlsCertificate", \.tlsCertificate, \.tlsCertificate, .text),
        .optional("tlsKey", \.tlsKey, \.tlsKey, .text),
        .optional("mtlsBind", \.mtlsBind, \.mtlsBind, .endpoint),
        .optional("mtlsAddress", \.mtlsAddress, \.mtlsAddress, .text),
        .optional("mtlsCa", \.mtlsCa, \.mtlsAuthorities, .path),
        .optional("mtlsCertificate", \.mtlsCertificate, \.mtlsCertificate, .text),
        .optional("mtlsKey", \.mtlsKey, \.mtlsKey, .text),
    ]

    private static let records: [ServeSetting] = [
        .optional("trace", \.trace, \.traceFile, .text),
        .flag("traceBeyondLoopback", \.traceBeyondLoopback, \.tracesBeyondLoopback),
        .value("logFormat", \.logFormat, \.logFormat, .choice),
        .value("logLevel", \.logLevel, \.logLevel, .choice),
        .value("limits", \.limits, \.limits, .numbers),
    ]
}
