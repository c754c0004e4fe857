import CeremonyEngine
import Endpoints
import UAF
import UAFRelyingParty
import _Primitives

/// The checks of the operator's apps: their facets, and the association files of their links.
extension DoctorCheck {
    static let facets = DoctorCheck(
        name: "facets",
        looksAt:
            "whether each facet is one of an app of --apps, and whether each app of the settings may answer, also by the list that phones fetch",
        remedy:
            "Give each app an entry in the file of --apps, take facets that no app has out of --facets, and start the server again: it reads both at its start."
    ) { scene in
        let configuration = scene.configuration
        let apps = try configuration.apps()
        let own = apps.flatMap(\.facets).map(\.text)
        var problems: [String] = []
        if !apps.isEmpty {
            problems += configuration.facets.filter { $0.isOfAnApp && !own.containsBytes(of: $0) }.map {
                "No app has the facet \($0), which --facets names."
            }
        }
        let trusted = configuration.facets + own
        let seen = "\(trusted.count) facets, and \(apps.count) apps with an entry."
        problems += try scene.namedBundles.filter { !trusted.containsBytes(of: $0.facet) }.map {
            "The app \($0.bundle) of \($0.setting) may not answer: its facet \($0.facet) is missing."
        }
        guard trusted.contains(where: \.isOfAnApp), scene.isServed else {
            return problems.isEmpty ? .good(seen) : .bad(problems)
        }
        do {
            let served = try await scene.servedFacets()
            problems += trusted.filter { !served.containsBytes(of: $0) }.map {
                "The facet \($0) is not in the list that phones fetch at \(configuration.issuer)/uaf/1.1/facets."
            }
        } catch let failure as CommandFailure where problems.isEmpty {
            return .unknown("The list of facets is not there for phones: \(failure.problem).")
        } catch is CommandFailure {}
        return problems.isEmpty ? .good(seen) : .bad(problems)
    }

    static let associations = DoctorCheck(
        name: "associations",
        looksAt:
            "whether the association files, by which phones let your apps open links, are at the issuer's host as Apple and Google fetch them",
        remedy: """
            Write team, bundle, package and certificates in the file of --apps as the makers show them, and start the server \
            again. A proxy in front passes \(AssociationFile.apple.path) and \(AssociationFile.android.path) on, without a \
            redirect and without a sign-in.
            """
    ) { scene in
        let apps = try scene.configuration.apps()
        guard !apps.isEmpty else { return .good("No app has an entry (--apps).") }
        guard scene.isServed else { return .unknown("No server runs, and the server serves the files.") }
        var problems: [String] = []
        for file in AssociationFile.allCases where file.isNeeded(by: apps) {
            let address = DoctorNetwork.origin(of: scene.configuration.issuer) + file.path
            do {
                let answer = try await scene.network().answer(of: address)
                guard answer.status == 200 else {
                    problems.append("\(address) is not reachable: the answer has the status \(answer.status).")
                    continue
                }
                guard let document = try? JSON(parsing: answer.body) else {
                    problems.append("\(address) holds no JSON.")
                    continue
                }
                problems += file.problems(of: document, for: apps).map { "\(address) \($0)" }
            } catch let failure as CommandFailure {
                problems.append("\(address) is not reachable: \(failure.problem).")
            }
        }
        return problems.isEmpty ? .good("The files name \(apps.count) apps.") : .bad(problems)
    }
}

/// A file by which a maker of phones lets apps open the links of a host.
enum AssociationFile: CaseIterable {
    case apple, android

    /// The path at the root of the host.
    var path: String {
        switch self {
        case .apple: "/.well-known/apple-app-site-association"
        case .android: "/.well-known/assetlinks.json"
        }
    }

    /// Returns `true` if one of the apps needs the file.
    func isNeeded(by apps: [AppEntry]) -> Bool {
        switch self {
        case .apple: apps.contains { $0.apple != nil }
        case .android: apps.contains { $0.android != nil }
        }
    }

    /// Returns the faults of a document for these apps, as the ends of sentences that begin with the file's address.
    func problems(of document: JSON, for apps: [AppEntry]) -> [String] {
        switch self {
        case .apple: Self.problems(ofApple: document, for: apps.compactMap(\.apple))
        case .android: Self.problems(ofAndroid: document, for: apps.compactMap(\.android))
        }
    }

    private static func problems(ofApple document: JSON, for apps: [AttestedApp]) -> [String] {
        var names: [String] = []
        if case .object(let object) = document, let links = try? object.object("applinks"),
            let details = try? links.array("details")
        {
            for case .object(let detail) in details {
                names += ((try? detail.strings("appIDs")) ?? nil) ?? []
                if let name = (try? detail.string("appID")) ?? nil { names.append(name) }
            }
        }
        return apps.compactMap { app in
            guard !names.containsBytes(of: app.name) else { return nil }
            // A name is a team, a period and a bundle, and a team has no period.
            let others = names.filter { $0.hasBytes(atEnd: "." + app.bundleID) }.map { $0.prefix { $0 != "." } }
            guard let other = others.first else { return "does not name the app \(app.name)." }
            return "names the team \(other) for \(app.bundleID), and the entry in --apps the team \(app.teamID)."
        }
    }

    private static func problems(ofAndroid document: JSON, for apps: [AppEntry.AndroidApp]) -> [String] {
        var fingerprints: [ExactText: [String]] = [:]
        if case .array(let statements) = document {
            for case .object(let statement) in statements {
                guard let target = (try? statement.object("target")) ?? nil,
                    let package = (try? target.string("package_name")) ?? nil
                else { continue }
                fingerprints[ExactText(package), default: []] +=
                    ((try? target.strings("sha256_cert_fingerprints")) ?? nil) ?? []
            }
        }
        return apps.compactMap { app in
            guard let named = fingerprints[ExactText(app.package)] else {
                return "does not name the app \(app.package)."
            }
            return app.fingerprints.allSatisfy { named.containsBytes(of: $0) }
                ? nil : "names other certificates for \(app.package) than the entry in --apps."
        }
    }
}

extension DoctorScene {
    /// The bundles that settings name beside the entries of apps, each with its setting.
    fileprivate var namedBundles: [(bundle: String, facet: String, setting: String)] {
        get throws {
            let attested = try self.configuration.appAttestation.apps.compactMap { text -> (String, String)? in
                guard let app = try? AttestedApp(text) else {
                    throw CommandFailure(.usage, "\(text) is no attested app")
                }
                return (app.bundleID, "--attested-apps")
            }
            let topic = self.configuration.push.apnsTopic.map { [($0, "--apns-topic")] } ?? []
            var known: [String] = []
            return (attested + topic).compactMap { bundle, setting in
                guard !known.containsBytes(of: bundle) else { return nil }
                known.append(bundle)
                return (bundle, "ios:bundle-id:\(bundle)", setting)
            }
        }
    }

    /// Fetches the facets as phones do (FIDO AppID and Facets 1.1 §3.1.3). Throws ``CommandFailure``.
    fileprivate func servedFacets() async throws -> [String] {
        let address = self.configuration.issuer + "/uaf/1.1/facets"
        let answer = try await self.network().answer(of: address)
        guard answer.status == 200, case .object(let object)? = try? JSON(parsing: answer.body),
            let lists = (try? object.array("trustedFacets")) ?? nil
        else { throw CommandFailure(.failed, "\(address) holds no list of facets (status \(answer.status))") }
        return lists.flatMap { list -> [String] in
            guard case .object(let list) = list else { return [] }
            return ((try? list.strings("ids")) ?? nil) ?? []
        }
    }
}

extension String {
    /// `true` for the facet of an app for a phone: an app of Apple's systems or of Android (§7.1).
    fileprivate var isOfAnApp: Bool {
        self.hasBytes(atStart: "ios:bundle-id:") || self.hasBytes(atStart: "android:apk-key-hash:")
    }
}
